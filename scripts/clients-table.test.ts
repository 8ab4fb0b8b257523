import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { clientsTable } from './clients-table.ts';
import { root } from './rules/repository.ts';

const python = 'packages/sdk-python/src/svc_sdk';
const names = ['operations.py', '_async/operations.pyi', '_sync/follow.py', '_sync/host.py', '_sync/sandbox.py'];
const files = Object.fromEntries(
  ['packages/sdk/src/routes.json', ...names.map((name) => `${python}/${name}`)].map((path) => [
    path,
    readFileSync(join(root, path), 'utf8'),
  ]),
);
const without = (name: string, line: RegExp) => ({
  ...files,
  [`${python}/${name}`]: (files[`${python}/${name}`] ?? '').replace(line, ''),
});

test('the committed table is that of the clients', () => {
  assert.equal(clientsTable(files), readFileSync(join(root, 'docs/clients.md'), 'utf8'));
});

test('an operation or a helper that one client lacks without a reason fails', () => {
  const planted: [string, RegExp, string][] = [
    ['operations.py', /^ {4}def revoke\(.*$/m, 'client.keys.revoke'],
    ['_async/operations.pyi', /^ {4}def list_all\(.*$/m, 'client.keys.list_all'],
    ['_sync/sandbox.py', /^ {4}def fork\(.*$/m, 'Sandbox.fork'],
  ];
  for (const [name, line, lacks] of planted)
    assert.throws(() => clientsTable(without(name, line)), { message: new RegExp(`lacks ${lacks},`) }, lacks);
});
