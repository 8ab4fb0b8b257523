import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { killAll } from '../platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from '../sandboxes.ts';

const run = promisify(execFile);
const here = import.meta.dirname;
/** Tools of this workspace are beside it or, when npm could share them, at the root. */
const tool = (path: string): string => {
  const places = [join(here, 'node_modules', path), join(resolve(here, '../..'), 'node_modules', path)];
  return places.find((place) => existsSync(place)) ?? assert.fail(`${path} is not installed`);
};
const node = (...args: string[]) => run(process.execPath, args, { cwd: here, maxBuffer: 16 * 1024 * 1024 });

/** A program with the types of openapi-typescript; it must compile as it stands. */
const typed = `import type { components, paths } from './schema.d.ts';
type NewSchedule = paths['/v1/schedules']['post']['requestBody']['content']['application/json'];
export const wanted: NewSchedule = {
  name: 'disk',
  kind: 'shell',
  spec: { command: 'df' },
  trigger: { type: 'interval', every_s: 60 },
};
export const codeOf = ({ error }: components['schemas']['Error']): string => error.code;
export const shown = (box: components['schemas']['Sandbox']): 'v1' | 'v2' => box.backend;
`;

/** A program with the functions of oazapfts; it is compiled, and then run against the platform. */
const story = `import { defaults, schedulesCreate, schedulesGet, sandboxesCreate, sandboxesRemove } from './client.ts';
const [baseUrl = '', key = '', withSandboxes = ''] = process.argv.slice(2);
defaults.baseUrl = baseUrl;
defaults.headers = { authorization: \`Bearer \${key}\` };
const made = await schedulesCreate({
  name: 'disk',
  kind: 'shell',
  spec: { command: 'df' },
  trigger: { type: 'interval', every_s: 3600 },
});
if (made.status !== 201) throw new Error(JSON.stringify(made.data));
const missing = await schedulesGet('00000000-0000-4000-8000-000000000000');
if (missing.status !== 404) throw new Error(String(missing.status));
const invalid = await sandboxesCreate({ ttl_seconds: 1 });
if (invalid.status !== 400) throw new Error(String(invalid.status));
let backend = 'none';
if (withSandboxes === 'yes') {
  const box = await sandboxesCreate({ backend: 'v1' });
  if (box.status !== 200) throw new Error(JSON.stringify(box.data));
  backend = box.data.backend;
  const removed = await sandboxesRemove(box.data.id);
  if (removed.status !== 200 || removed.data.status !== 'destroyed') throw new Error(JSON.stringify(removed.data));
}
const codes = [missing.data.error.code, invalid.data.error.code];
console.log(JSON.stringify({ name: made.data.name, codes, backend }));
`;

const compilerOptions = {
  target: 'esnext',
  module: 'nodenext',
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  types: [],
  lib: ['esnext', 'dom', 'dom.iterable'],
};

describe('clients that were generated from the published document', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  let folder: string;

  before(async () => {
    p = await startSandboxPlatform();
    // Inside of this workspace, where the generated code finds its runtime.
    folder = mkdtempSync(join(here, '.generated-'));
    writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${p.url}/openapi.json`)).text());
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await p?.close();
    killAll();
  });

  const compile = async (...files: string[]) => {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    await node(tool('typescript/bin/tsc'), '-p', folder).catch((error: { stdout?: string }) =>
      assert.fail(String(error.stdout).slice(0, 2_000)),
    );
  };

  test('openapi-typescript reads the document, and its types say what is sent and answered', async () => {
    await node(tool('openapi-typescript/bin/cli.js'), join(folder, 'openapi.json'), '-o', join(folder, 'schema.d.ts'));
    writeFileSync(join(folder, 'typed.ts'), typed);
    await compile('typed.ts');
  });

  test('a client of oazapfts creates a schedule and a sandbox, and reads the code of an error', async () => {
    await node(tool('oazapfts/dist/cli.js'), join(folder, 'openapi.json'), join(folder, 'client.ts'));
    writeFileSync(join(folder, 'story.ts'), `declare const process: { argv: string[] };\n${story}export {};\n`);
    await compile('story.ts');
    const { stdout } = await node(join(folder, 'story.ts'), p.url, p.key, 'yes');
    const codes = ['not_found', 'invalid_ttl'];
    assert.deepEqual(JSON.parse(stdout), { name: 'disk', codes, backend: 'v1' });
  });
});
