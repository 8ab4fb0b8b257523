import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { bundle } from '../../kernel/reference/bundle.ts';
import { builtOnce } from '../../kernel/reference/install.ts';
import { scriptType } from '../../kernel/reference/pages.ts';

const entry = fileURLToPath(import.meta.resolve('@svc/host/program'));

/** `ws` asks for modules of Node.js by `require`, which a module has not by itself. */
const requireOfModules =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** zod brings its messages in 50 languages, 350 KB of them; the programs speak one. */
const oneLanguage: Plugin = {
  name: 'one language',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** The host daemon and `svc env` as one file, for a machine that has only Node.js; it is built in 0.2 s. */
export const hostProgram = { path: '/install/host.mjs', type: scriptType, built: builtOnce(buildProgram) };

async function buildProgram(): Promise<Buffer> {
  const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('@svc/host/package.json')), 'utf8')) as {
    version: string;
  };
  const [file] = await bundle({
    entryPoints: [entry],
    // Names of files stand in it as seen from there: every gateway of a version serves the same bytes.
    absWorkingDir: fileURLToPath(new URL('../../..', import.meta.resolve('@svc/host/program'))),
    plugins: [oneLanguage],
    platform: 'node',
    target: 'node20',
    define: { bundledVersion: JSON.stringify(version) },
    banner: { js: `#!/usr/bin/env node\n${requireOfModules}` },
    // The file stays below 1.5 MB, and a stack trace keeps its lines.
    minifySyntax: true,
    legalComments: 'inline',
  });
  return Buffer.from(file?.contents ?? []);
}
