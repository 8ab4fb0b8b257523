import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemEnvironment } from '../config.ts';
import { bundle } from '../kernel/reference/bundle.ts';
import { type ArchivedFile, tarball } from './archives.ts';
import { contractDeclarations } from './declarations.ts';

const source = dirname(fileURLToPath(import.meta.resolve('@svc/sdk/package.json')));
const compiler = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin/tsc');

/** The SDK as `npm install` takes it: a module without imports, one for the files of Node.js, and the types of both. */
export async function npmPackage(): Promise<Buffer> {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { name: string; version: string };
  const { name, version } = manifest;
  const published = {
    name,
    version,
    description: 'Client of svc',
    license: 'Apache-2.0',
    type: 'module',
    exports: {
      '.': { types: './types/index.d.ts', default: './index.js' },
      './file': { types: './types/file.d.ts', default: './file.js' },
    },
    engines: { node: '>=20' },
    sideEffects: false,
  };
  const files: ArchivedFile[] = [
    { path: 'package.json', bytes: Buffer.from(`${JSON.stringify(published, undefined, 2)}\n`) },
    { path: 'README.md', bytes: readFileSync(join(source, 'README.md')) },
    ...(await modules()),
    ...(await types()),
  ];
  return tarball(files.map(({ path, bytes }) => ({ path: `package/${path}`, bytes })));
}

/** For Node.js from 20 on and browsers. */
async function modules(): Promise<ArchivedFile[]> {
  const outdir = join(source, 'dist');
  const files = await bundle({
    absWorkingDir: source,
    entryPoints: ['src/index.ts', 'src/file.ts'],
    outdir,
    target: ['node20', 'es2022'],
    external: ['node:*'],
    sourcemap: true,
  });
  return files.map(({ path, contents }) => ({ path: relative(outdir, path), bytes: Buffer.from(contents) }));
}

/** Declarations of the SDK, and beside them what it takes of the contract, as plain interfaces. */
async function types(): Promise<ArchivedFile[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-types-'));
  try {
    // Checked when it was written. On one thread: 1.3 s and 220 MB, not 3.5 s of two cores and 680 MB.
    const options = ['--outDir', folder, '--noCheck', '--singleThreaded'];
    await promisify(execFile)(process.execPath, [compiler, '-p', join(source, 'tsconfig.build.json'), ...options], {
      env: systemEnvironment(),
      cwd: source,
    });
    const own = globSync('*.d.ts', { cwd: join(folder, 'sdk/src') }).sort();
    return [
      { path: 'types/contract.d.ts', bytes: Buffer.from(contractDeclarations()) },
      ...own.map((file) => {
        const text = readFileSync(join(folder, 'sdk/src', file), 'utf8')
          .replace(/(['"])@svc\/contract\1/g, "'./contract.js'")
          .replace(/(['"])(\.[^'"]*)\.ts\1/g, "'$2.js'");
        return { path: `types/${file}`, bytes: Buffer.from(text) };
      }),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
