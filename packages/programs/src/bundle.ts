import { readFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { build, type OnLoadArgs, type OnLoadResult, type Plugin, type PluginBuild } from 'esbuild';
import { hashOf, type Stat, statOfFile } from '../launch.mjs';
import { bundledName } from './index.ts';

/** A file of the clone that a bundle is made of. */
export interface Input {
  /** Of the content that was read; empty: it was not there. */
  hash: string;
  /** From before it was read. */
  stat: Stat;
}

/** A bundle that is not written yet. */
interface Bundle {
  /** Contents by name. */
  files: Map<string, Uint8Array>;
  /** By their paths as seen from the clone. */
  inputs: Map<string, Input>;
}

/** Beside the programs: what a bundled module has of itself is what its source has, wherever the clone lies now. */
const placeFile = 'place.mjs';
const place = `import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
const clone = join(import.meta.dirname, '../../../..');
export const bundleFolder = import.meta.dirname;
export const require = createRequire(import.meta.url);
export function metaOf(path) {
  const filename = join(clone, path);
  const url = pathToFileURL(filename).href;
  const resolve = (name) =>
    /^\\.{1,2}\\//.test(name) ? new URL(name, url).href : pathToFileURL(createRequire(filename).resolve(name)).href;
  return { filename, dirname: dirname(filename), url, resolve, main: false };
}
`;

/**
 * Packages that stay where they are: what loads them does so late, or is a worker. With them a build takes twice as
 * long, and nothing starts faster.
 */
const late = [
  '@aws-sdk/client-s3',
  '@aws-sdk/lib-storage',
  '@simplewebauthn/server',
  'docx',
  'esbuild',
  'file-type',
  'fontkit',
  'nodemailer',
  'oidc-provider',
  'pdfkit',
  'undici',
  'unpdf',
  'web-push',
];

const isOurs = (path: string): boolean => !path.includes(`${sep}node_modules${sep}`);
const places = ['dirname', 'filename', 'url', 'resolve', 'main'].map((name) => [
  `import.meta.${name}`,
  `importMeta.${name}`,
]);
/** Which words of a module tell it where it lies. */
const asksPlace = /import\.meta\b|\b__dirname\b|\b__filename\b/;
const isStrict = /^(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*['"]use strict['"]/;

/** Reads a file of the clone, and what a later change of it is seen by. */
export async function readInput(clone: string, file: string): Promise<Input & { contents: Buffer }> {
  const path = join(clone, file);
  const stat = statOfFile(path, Date.now());
  const contents = readFileSync(path);
  return { contents, hash: await hashOf(contents), stat };
}

/** Gives each module the place of its source, and notes each of ours as it was read. */
const sources = (clone: string, inputs: Map<string, Input>): Plugin => ({
  name: 'sources',
  setup(builder) {
    const load = async ({ path }: OnLoadArgs): Promise<OnLoadResult | undefined> => {
      const file = relative(clone, path);
      const input = isOurs(path) ? await readInput(clone, file) : undefined;
      if (input) inputs.set(file, { hash: input.hash, stat: input.stat });
      const contents = input?.contents ?? readFileSync(path);
      if (path.endsWith('.json')) return { contents, loader: 'json' };
      const text = contents.toString('utf8');
      const loader = path.endsWith('.ts') ? 'ts' : 'js';
      if (!asksPlace.test(text)) return { contents, loader };
      const strict = isStrict.test(text) ? "'use strict';" : '';
      const meta = `const importMeta = /* @__PURE__ */ metaOf(${JSON.stringify(file)});`;
      return { contents: `${strict}${meta}${text}`, loader };
    };
    builder.onLoad({ filter: /\.(?:ts|js|mjs|cjs|json)$/ }, load);
  },
});

/** Late packages, by their path from the bundle: it finds those of a workspace of its own too. */
const packages = (folder: string): Plugin => ({
  name: 'packages',
  setup(builder: PluginBuild) {
    const pattern = new RegExp(`^(?:${late.join('|').replaceAll('/', '\\/')})(?:\\/|$)`);
    builder.onResolve({ filter: pattern }, async ({ path, pluginData, kind, resolveDir }) => {
      if (pluginData === packages) return undefined;
      const found = await builder.resolve(path, { kind, resolveDir, pluginData: packages });
      if (found.errors.length > 0) return found;
      return { path: relative(folder, found.path).replaceAll(sep, '/'), external: true };
    });
  },
});

/**
 * `import` of node:http asks for each of its exports, among them the WebSocket of the client that stands behind fetch:
 * 100 ms of processor time and some MB. `require` does not.
 */
const http: Plugin = {
  name: 'http',
  setup(builder) {
    builder.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' || kind === 'dynamic-import' ? { path: 'http', namespace: 'builtin' } : undefined,
    );
    builder.onLoad({ filter: /^http$/, namespace: 'builtin' }, () => ({
      contents: "module.exports = process.getBuiltinModule('node:http');",
    }));
  },
};

/** Bundles the programs for a folder in the clone; throws what esbuild says. */
export async function bundlePrograms(clone: string, folder: string, programs: readonly string[]): Promise<Bundle> {
  const inputs = new Map<string, Input>();
  const entryPoints = programs.map((program) => ({ in: program, out: bundledName(program).replace(/\.mjs$/, '') }));
  const { outputFiles } = await build({
    absWorkingDir: clone,
    entryPoints,
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    format: 'esm',
    // As Node.js itself finds packages.
    conditions: ['node'],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'silent',
    tsconfigRaw: {},
    external: ['*.node'],
    define: { ...Object.fromEntries(places), __dirname: 'importMeta.dirname', __filename: 'importMeta.filename' },
    banner: { js: `import { bundleFolder, metaOf, require } from './${placeFile}';` },
    plugins: [http, packages(folder), sources(clone, inputs)],
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  files.set(placeFile, Buffer.from(place));
  return { files, inputs };
}
