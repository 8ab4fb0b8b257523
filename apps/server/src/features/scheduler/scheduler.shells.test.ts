import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { nodeOfTests } from '../sandboxes/sandboxes.testing.ts';
import { type Json, openScheduler } from './scheduler.testing.ts';

describe('scheduler: shell commands in the cloud', () => {
  // Ahead of the node's clock, which is the machine's: a sandbox that is over by that one is refused.
  const start = Date.now() + 86_400_000;
  const t = shared(() => openScheduler({ settings: { SVC_SANDBOXD_SOCKET: nodeOfTests() }, start }));
  /** Runs a command once and answers its run when it is over. */
  const runOf = async (spec: Json, state: string, fields: Json = {}): Promise<Json> => {
    const trigger = { type: 'event', trigger_id: 'x' };
    const schedule = await t.create({ kind: 'shell', spec, trigger, target: { type: 'cloud' }, ...fields });
    await t.runNow(schedule);
    return t.turnTo(0, schedule, state);
  };

  test('a command runs in a sandbox of its own, without any host’s approval', async () => {
    const run = await runOf({ command: 'echo "from $(whoami) in $(pwd)"; echo end >&2' }, 'succeeded');
    assert.deepEqual([run.exit_code, run.log_tail], [0, 'from user in /workspace\nend\n']);
    assert.equal(run.device_id, undefined);
    assert.deepEqual((await t.call('GET', '/v1/sandboxes?status=running')).body.data, []);
  });

  test('one that fails says how, and so does one past its time', async () => {
    const failed = await runOf({ command: 'exit 9' }, 'failed');
    assert.deepEqual([failed.exit_code, failed.error], [9, 'exit code 9']);
    // Time stands still here, or its state would be `timed_out`.
    assert.equal((await runOf({ command: 'sleep 60' }, 'failed', { timeout_s: 1 })).error, 'timeout');
  });

  test('another shell and a directory are honoured', async () => {
    const run = await runOf({ command: 'import os; print(os.getcwd())', shell: 'python3', cwd: 'out' }, 'succeeded');
    assert.equal(run.log_tail, '/workspace/out\n');
  });
});
