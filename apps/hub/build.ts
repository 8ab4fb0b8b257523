import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { buildFile, type HubBuild, hashOfSources, hubFolder } from './sources.ts';

/** First load of Now, gzip: more fails the build (design: hub, Budgets). */
const mostFirstLoadBytes = 150_000;
/** Builds whose files stay for tabs that were opened with them. */
const keptBuilds = 3;
/** Names in outputs that look like addresses of other hosts and are never asked: XML namespaces, and examples in texts. */
const harmless = /^https?:\/\/(?:www\.w3\.org\/|x\b|localhost\b|127\.0\.0\.1\b|example\.(?:com|org)\b|your-|\$\{|…)/;

/** `{hub}/frame/<name>`. */
const frameFiles = { terminal: 'frames/terminal/main.ts', cells: 'frames/cells/main.tsx' };
/** Pages that notifications open. */
const pagesOfNotes = ['schedules/Run.tsx', 'notifications/Alert.tsx', 'heartbeats/Monitor.tsx'].map(
  (name) => `src/pages/${name}`,
);
const source = (name: string): string => join(hubFolder, 'src', name);
const common = { bundle: true, format: 'esm', minify: true, target: 'es2022', logLevel: 'silent' } as const;
const jsx = { jsx: 'automatic', jsxImportSource: 'preact' } as const;

/** Builds the hub into `<folder>/<hash>`, whole or not at all. Throws with the first fault. */
async function buildHub(folder: string): Promise<HubBuild> {
  const hash = await hashOfSources();
  const unfinished = join(folder, `.${hash}-${process.pid}`);
  await mkdir(unfinished, { recursive: true });
  try {
    const made = await write(unfinished, hash);
    // Another process may have been quicker: its build is the same.
    await rename(unfinished, join(folder, hash)).catch(async (error: unknown) => {
      await stat(join(folder, hash, buildFile)).catch(() => {
        throw error;
      });
    });
    await removeOld(folder, hash);
    return made;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function write(out: string, hash: string): Promise<HubBuild> {
  const { metafile } = await build({
    ...common,
    ...jsx,
    entryPoints: { main: source('main.tsx') },
    outdir: out,
    splitting: true,
    metafile: true,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    assetNames: '[name]-[hash]',
    define: { HUB_BUILD: JSON.stringify(hash) },
    legalComments: 'none',
  });
  const frames = await buildFrames(out, hash);
  await cp(join(hubFolder, 'icons'), out, { recursive: true });
  const main = outputOf(metafile, 'src/main.tsx');
  const preload = staticImports(metafile, main.path);
  const files = (await readdir(out)).filter((name) => name !== buildFile);
  const shell = [basename(main.path), basename(main.style ?? ''), ...preload];
  // A notification opens these, and its reader has a decision to make: they wait beside the shell.
  const kept = new Set(shell.filter(Boolean));
  for (const page of pagesOfNotes) {
    const { path } = outputOf(metafile, page);
    for (const name of [basename(path), ...staticImports(metafile, path)]) kept.add(name);
  }
  await build({
    ...common,
    format: 'iife',
    entryPoints: [source('sw.ts')],
    outfile: join(out, 'sw.js'),
    define: { HUB_BUILD: JSON.stringify(hash), HUB_SHELL: JSON.stringify([...kept]) },
  });
  const firstLoadBytes = await weigh(out, shell);
  if (firstLoadBytes > mostFirstLoadBytes)
    throw new Error(`the first load is ${firstLoadBytes} bytes, more than ${mostFirstLoadBytes}`);
  await refuseForeignHosts(out);
  const made: HubBuild = {
    hash,
    entry: basename(main.path),
    style: basename(main.style ?? ''),
    preload,
    frames,
    files,
    firstLoadBytes,
  };
  await writeFile(join(out, buildFile), `${JSON.stringify(made, null, 1)}\n`);
  return made;
}

/** Documents in frames: by themselves, so that the first load of the pages shares no part with them. */
async function buildFrames(out: string, hash: string): Promise<HubBuild['frames']> {
  const { metafile } = await build({
    ...common,
    ...jsx,
    entryPoints: Object.fromEntries(Object.entries(frameFiles).map(([name, file]) => [`frame-${name}`, source(file)])),
    outdir: out,
    metafile: true,
    entryNames: '[name]-[hash]',
    define: { HUB_BUILD: JSON.stringify(hash) },
    legalComments: 'none',
  });
  return Object.fromEntries(
    Object.entries(frameFiles).map(([name, file]) => {
      const { path, style } = outputOf(metafile, `src/${file}`);
      return [name, { entry: basename(path), ...(style !== undefined && { style: basename(style) }) }];
    }),
  );
}

function outputOf({ outputs }: Metafile, entry: string): { path: string; style: string | undefined } {
  const found = Object.entries(outputs).find(([, output]) => output.entryPoint?.endsWith(entry));
  if (!found) throw new Error(`${entry} has no output`);
  return { path: found[0], style: found[1].cssBundle };
}

/** Scripts that are loaded before the first line of `path` runs. */
function staticImports({ outputs }: Metafile, path: string): string[] {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    for (const { path: to, kind } of outputs[name]?.imports ?? []) {
      if (kind !== 'import-statement' || seen.has(to)) continue;
      seen.add(to);
      visit(to);
    }
  };
  visit(path);
  return [...seen].map((name) => basename(name));
}

async function weigh(out: string, names: readonly string[]): Promise<number> {
  const contents = await Promise.all(names.filter(Boolean).map(async (name) => readFile(join(out, name))));
  return contents.reduce((sum, content) => sum + gzipSync(content, { level: 9 }).length, 0);
}

/** Every request of the hub goes to its own origin: an address of another one in an output is a fault. */
async function refuseForeignHosts(out: string): Promise<void> {
  for (const name of await readdir(out)) {
    if (!/\.(?:js|css)$/.test(name)) continue;
    const text = await readFile(join(out, name), 'utf8');
    const found = [...text.matchAll(/https?:\/\/[^\s"'`)\\]*/g)].find(
      ([url]) => url.length > 'https://'.length && !harmless.test(url),
    );
    if (found) throw new Error(`${name} names another host: ${found[0]}`);
  }
}

async function removeOld(folder: string, hash: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{16}$/.test(name) && name !== hash);
  const aged = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })));
  const old = aged.sort((one, other) => other.at - one.at).slice(keptBuilds - 1);
  await Promise.all(old.map(async ({ name }) => rm(join(folder, name), { recursive: true, force: true })));
}

/** As a program: builds into the folder that it is given, `dist` beside it by default. */
if (import.meta.main) {
  try {
    const { firstLoadBytes } = await buildHub(process.argv[2] ?? join(dirname(import.meta.filename), 'dist'));
    process.stdout.write(`first load: ${firstLoadBytes} bytes\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
