import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../kernel/reference/bundle.ts';
import { builtOnce } from '../../kernel/reference/install.ts';
import { scriptType } from '../../kernel/reference/pages.ts';

const entry = fileURLToPath(import.meta.resolve('@svc/host/program'));

/** The host daemon as one file, for a machine that has only Node.js; it is built in 0.2 s. */
export const hostProgram = { path: '/install/host.mjs', type: scriptType, built: builtOnce(buildProgram) };

async function buildProgram(): Promise<Buffer> {
  const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('@svc/host/package.json')), 'utf8')) as {
    version: string;
  };
  const [file] = await bundle({
    entryPoints: [entry],
    // Names of files stand in it as seen from there: every gateway of a version serves the same bytes.
    absWorkingDir: fileURLToPath(new URL('../../..', import.meta.resolve('@svc/host/program'))),
    platform: 'node',
    target: 'node20',
    define: { bundledVersion: JSON.stringify(version) },
    banner: { js: '#!/usr/bin/env node' },
    legalComments: 'inline',
  });
  return Buffer.from(file?.contents ?? []);
}
