import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

test('a working folder that was removed is left', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-folder-'));
  const program = `
    const { leaveClosedFolder } = await import(${JSON.stringify(new URL('working-folder.ts', import.meta.url).href)});
    (await import('node:fs')).rmdirSync(${JSON.stringify(folder)});
    leaveClosedFolder();
    console.log(process.cwd());`;
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, encoding: 'utf8' });
  assert.equal(ended.stdout, '/\n', ended.stderr);
});
