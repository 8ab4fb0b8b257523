import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { EndedProcess, Forked, SandboxState } from '@svc/sandboxd-api';
import { type Daemon, skip, startDaemon, until } from '../testing.ts';

/** Ends like a program that a restore broke: by a signal, as soon as it is let go on. */
const crash = `import os, signal
signal.signal(signal.SIGCONT, lambda *_: os.kill(os.getpid(), signal.SIGSEGV))
print('up', flush=True)
while True: signal.pause()
`;

describe('what comes after a restore', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
  });
  after(() => daemon.stop());

  const later = () => ({ expires_at: Date.now() + 600_000 });
  /** The processes by their names; pids are the sandbox's. */
  const told = async (id: string): Promise<EndedProcess[]> => {
    const state = async () => (await daemon.call<SandboxState>('GET', `/v1/sandboxes/${id}`)).body;
    await until(async () => (await state()).ended_after_resume !== undefined, 'what ended after the restore');
    return (await state()).ended_after_resume ?? [];
  };
  const named = (ended: EndedProcess[]) => ended.map(({ command, signal }) => [command, signal]);

  test('processes that end right after a resume are named though it was restored, in a child of a fork and after a restart', async () => {
    const id = randomUUID();
    assert.equal((await daemon.create(id)).status, 200);
    // The first is a child of the agent once its shell is gone; how the other's ended only its parent knows.
    const start = `cat > crash.py
cp "$(command -v python3)" /tmp/orphan; cp "$(command -v python3)" /tmp/inner
(setsid /tmp/orphan -u crash.py > a & )
(setsid bash -c '/tmp/inner -u crash.py > b & wait; sleep 5000' & )
(setsid sleep 4000 &)
until grep -qs up a && grep -qs up b; do sleep 0.05; done`;
    assert.equal((await daemon.exec(id, { shell: start, stdin: crash })).stderr, '');
    const child = randomUUID();
    const forked = await daemon.call<Forked>('POST', `/v1/sandboxes/${id}/fork`, {
      children: [{ id: child, ...later() }],
    });
    assert.equal(forked.body.children[0]?.restored, true);
    assert.deepEqual(named(await told(child)), [
      ['orphan', 'SIGSEGV'],
      ['inner', undefined],
    ]);
    await daemon.kill();
    await daemon.again();
    assert.deepEqual(named(await told(child)), [
      ['orphan', 'SIGSEGV'],
      ['inner', undefined],
    ]);
  });
});
