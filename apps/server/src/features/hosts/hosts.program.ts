import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The host daemon as one file. */
interface Program {
  /** One buffer for all who fetch it: strangers that read nothing hold no copy each. */
  bytes: Buffer;
  /** In hex. */
  sha256: string;
}

const entry = fileURLToPath(import.meta.resolve('@svc/host/program'));

let built: Promise<Program> | undefined;

/** The host daemon as one file, for a machine that has only Node.js. */
export const hostProgram = {
  /** Where the gateway serves it. */
  path: '/install/host.mjs',
  /** Builds it when it is first asked for, 0.2 s; a build that failed is tried again. */
  built(): Promise<Program> {
    built ??= buildProgram().catch((error: unknown) => {
      built = undefined;
      throw error;
    });
    return built;
  },
};

async function buildProgram(): Promise<Program> {
  const { build, stop } = await import('esbuild');
  const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('@svc/host/package.json')), 'utf8')) as {
    version: string;
  };
  try {
    const { outputFiles } = await build({
      entryPoints: [entry],
      // Names of files stand in it as seen from there: every gateway of a version serves the same bytes.
      absWorkingDir: fileURLToPath(new URL('../../..', import.meta.resolve('@svc/host/program'))),
      bundle: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      define: { bundledVersion: JSON.stringify(version) },
      banner: { js: '#!/usr/bin/env node' },
      legalComments: 'inline',
      logLevel: 'silent',
    });
    const bytes = Buffer.from(outputFiles[0]?.contents ?? []);
    return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
  } finally {
    await stop();
  }
}
