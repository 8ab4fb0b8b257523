import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostProgram } from './hosts.program.ts';

test('the one file has every program of hosts, is the daemon by itself, and stays below 1.5 MB', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-program-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'host.mjs');
  const { bytes } = await hostProgram.built();
  assert.ok(bytes.length < 1_500_000, `${bytes.length} bytes`);
  await writeFile(file, bytes);
  const usageOf = (...words: string[]) =>
    /^Usage: (svc \w+) /.exec(execFileSync(process.execPath, [file, ...words, '--help']).toString())?.[1];
  assert.equal(usageOf(), 'svc host');
  for (const name of ['host', 'env', 'session', 'prompt', 'login', 'logout', 'whoami'])
    assert.equal(usageOf(name), `svc ${name}`);
});
