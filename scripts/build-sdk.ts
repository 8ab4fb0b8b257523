import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, dirname } from 'node:path';
import { build } from 'esbuild';
import { root } from './rules/repository.ts';

/**
 * Builds the SDK as people install it into `packages/sdk/dist`: one module without imports for Node.js from 20 on and for
 * browsers, and types. `npm pack packages/sdk/dist` makes the tarball.
 */
export async function buildSdk(): Promise<string> {
  const from = join(root, 'packages/sdk');
  const to = join(from, 'dist');
  rmSync(to, { recursive: true, force: true });
  await build({
    entryPoints: [join(from, 'src/index.ts')],
    outfile: join(to, 'index.js'),
    bundle: true,
    format: 'esm',
    target: ['node20', 'es2022'],
    sourcemap: true,
    sourcesContent: true,
    logLevel: 'error',
  });
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(from, 'tsconfig.build.json')],
    {
      stdio: 'inherit',
    },
  );
  for (const file of globSync('types/**/*.d.ts', { cwd: to })) reachTypes(to, file);
  const source = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as { name: string; version: string };
  const contract = JSON.parse(readFileSync(join(root, 'packages/contract/package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const published = {
    name: source.name,
    version: source.version,
    description: 'Client of svc',
    license: 'UNLICENSED',
    type: 'module',
    exports: { '.': { types: './types/sdk/src/index.d.ts', default: './index.js' } },
    engines: { node: '>=20' },
    sideEffects: false,
    // For types alone: nothing of it is loaded.
    dependencies: contract.dependencies,
  };
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
  cpSync(join(from, 'README.md'), join(to, 'README.md'));
  return to;
}

/** Types of the contract lie beside those of the SDK, as it is no package of its own; what is there is no source. */
function reachTypes(to: string, file: string): void {
  const contract = relative(dirname(file), 'types/contract/src/index.js');
  const text = readFileSync(join(to, file), 'utf8');
  const reached = text
    .replace(/(['"])@svc\/contract\1/g, `'${contract}'`)
    .replace(/(['"])(\.[^'"]*)\.ts\1/g, "'$2.js'");
  writeFileSync(join(to, file), reached);
}

if (import.meta.main) console.log(await buildSdk());
