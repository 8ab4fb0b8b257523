import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock, testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { until } from '../../testing.ts';
import { WorkFailed, Workers } from './workers.ts';
import type { TestWork } from './workers.testing.ts';

const options = {
  program: fileURLToPath(new URL('./workers.testing.ts', import.meta.url)),
  atOnce: 2,
  mostOfOne: 1,
  workMs: 20_000,
  mostHeapMiB: 256,
  mostResidentBytes: 400 * 1024 * 1024,
  mostHeldBytes: 64 * 1024 * 1024,
};

function open(more: Partial<typeof options> = {}, clock: Clock = systemClock) {
  const workers = new Workers<TestWork, Record<TestWork['kind'], string>>(
    { clock, log: createLog('silent') },
    { ...options, ...more },
  );
  return Object.assign(workers, { [Symbol.asyncDispose]: () => workers.stop() });
}

const failedAs = (kind: string) => (error: unknown) => error instanceof WorkFailed && error.kind === kind;

describe('workers', () => {
  it('answer work, and go on after work that failed', async () => {
    await using workers = open();
    assert.equal(await workers.do('a', { kind: 'echo', text: 'one' }), 'one');
    await assert.rejects(workers.do('a', { kind: 'throw', text: 'RangeError' }), failedAs('RangeError'));
    assert.equal(await workers.do('a', { kind: 'echo', text: 'two' }), 'two');
    assert.equal(workers.count, 1);
  });

  it('end work that takes too long, too much memory, or kills its process', async () => {
    await using workers = open({ workMs: 2_000 });
    await assert.rejects(workers.do('a', { kind: 'spin', text: '' }), failedAs('too_hard'));
    await assert.rejects(workers.do('a', { kind: 'exit', text: '' }), failedAs('too_hard'));
    await assert.rejects(workers.do('a', { kind: 'grow', text: '' }), failedAs('too_hard'));
    assert.equal(workers.count, 0);
  });

  it('may take four times as long while the machine is busy with other things, and no longer', async () => {
    const clock = testClock();
    await using workers = open({ workMs: 2_000 }, clock);
    const echoed = workers.do('a', { kind: 'echo', text: 'one' });
    await until(() => workers.count === 1);
    clock.advance(7_900);
    assert.equal(await echoed, 'one');
    const spins = workers.do('a', { kind: 'spin', text: '' });
    clock.advance(8_000);
    await assert.rejects(spins, failedAs('too_hard'));
  });

  it('give an account its place while another one holds what it borrowed', async () => {
    await using workers = open();
    const gone = new AbortController();
    const spins = Promise.allSettled([0, 1, 2].map(() => workers.do('a', { kind: 'spin', text: '' }, gone.signal)));
    assert.equal(await workers.do('b', { kind: 'echo', text: 'b' }), 'b');
    gone.abort(new Error('gone'));
    for (const spin of await spins) assert.match(String(spin.status === 'rejected' && spin.reason), /gone/);
  });

  it('see nothing of the environment of their owner', async () => {
    await using workers = open();
    assert.equal(await workers.do('a', { kind: 'environment', text: '' }), '');
  });

  it('yield to requests, and have no better priority than a platform that was started with nice', async (t) => {
    const own = getPriority();
    const cases = [
      { given: 0, wanted: Math.max(own, 10) },
      { given: 12, wanted: Math.min(own + 12, 19) },
    ];
    for (const { given, wanted } of cases) {
      const words = ['-n', String(given), process.execPath, options.program];
      const worker = spawn('nice', words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      t.after(() => worker.kill('SIGKILL'));
      worker.send({ kind: 'priority', text: '' });
      const [said] = await Promise.race([once(worker, 'message'), once(worker, 'exit')]);
      assert.equal((said as { result?: string } | null)?.result, String(wanted));
    }
  });
});
