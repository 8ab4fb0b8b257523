import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { processStart } from '@svc/process-lock';
import { isAlive, temporaryDirectory, until } from '../testing.ts';
import { openJournal, pruneJournal } from './journal.ts';

async function group(t: TestContext, env: Record<string, string>, command = 'sleep 600 & echo $!; wait') {
  const child: ChildProcess = spawn('/bin/sh', ['-c', command], {
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // Gone as it should be.
    }
  });
  const [line] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  return { leader: child.pid as number, member: Number(String(line)), child };
}

/** Writes a record as of a daemon that is gone. */
async function leave(directory: string, id: string, process?: { pid: number; started: string }): Promise<void> {
  const record = { id, attempt: 1, schedule_id: randomUUID(), owner: { pid: 1, started: 'long ago' }, process };
  await writeFile(join(directory, `${id}.1.json`), JSON.stringify(record));
}

test('an attempt is begun once, in a file that only its owner reads', async (t) => {
  const directory = join(await temporaryDirectory(t), 'runs');
  const journal = await openJournal(directory);
  const [id, schedule] = [randomUUID(), randomUUID()];
  const begun = await Promise.all(Array.from({ length: 8 }, () => journal.begin(id, 1, schedule)));
  assert.equal(begun.filter((entry) => entry !== undefined).length, 1);
  assert.ok(await journal.begin(id, 2, schedule));
  assert.equal((await stat(directory)).mode & 0o777, 0o700);
  assert.equal((await stat(join(directory, `${id}.1.json`))).mode & 0o777, 0o600);
  assert.deepEqual(await journal.abandoned(), [], 'this process still works on them');
  for (const entry of begun) await entry?.close();
  assert.equal(await journal.begin(id, 1, schedule), undefined, 'a closed one neither');
});

test('what an earlier daemon left is killed, leader or not; a number that is someone else’s is not', async (t) => {
  const directory = await temporaryDirectory(t);
  const journal = await openJournal(directory);
  const ids = [randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const;
  const led = await group(t, { SVC_RUN_ID: ids[0] });
  await leave(directory, ids[0], { pid: led.leader, started: processStart(led.leader) ?? '' });
  // The leader is gone, a member is not.
  const orphan = await group(t, { SVC_RUN_ID: ids[1] }, 'sleep 600 & echo $!');
  await until(() => orphan.child.exitCode !== null, 'the leader is gone');
  await leave(directory, ids[1], { pid: orphan.leader, started: 'before' });
  // The numbers went to strangers: a leader that started at another time, a group without a leader and without the mark.
  const stranger = await group(t, { SVC_RUN_ID: randomUUID() });
  await leave(directory, ids[2], { pid: stranger.leader, started: 'before' });
  const other = await group(t, {}, 'sleep 600 & echo $!');
  await until(() => other.child.exitCode !== null, 'the leader is gone');
  await leave(directory, ids[3], { pid: other.leader, started: 'before' });
  const left = await journal.abandoned();
  assert.deepEqual(left.map(({ record }) => record.id).sort(), [...ids].sort());
  await until(() => ![led.leader, led.member, orphan.member].some(isAlive), 'all of it is gone');
  assert.deepEqual([stranger.leader, stranger.member, other.member].map(isAlive), [true, true, true]);
});

test('a damaged record is passed over, and old files go', async (t) => {
  const directory = await temporaryDirectory(t);
  const journal = await openJournal(directory);
  await writeFile(join(directory, `${randomUUID()}.1.json`), '{');
  assert.deepEqual(await journal.entries(), []);
  const old = join(directory, 'old.json');
  await writeFile(old, 'x');
  await utimes(old, 1, 1);
  await pruneJournal(directory);
  await assert.rejects(readFile(old));
});
