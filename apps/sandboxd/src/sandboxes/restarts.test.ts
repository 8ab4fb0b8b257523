import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { type Daemon, mainPath, processesOf, skip, startDaemon, until } from '../testing.ts';

const run = promisify(execFile);
/** A whole number from `least` to below `end` that follows from those before: a run that failed fails again. */
let last = 20_261_129;
const choose = (least: number, end: number): number =>
  least + ((last = (last * 48_271) % 2_147_483_647) % (end - least));
const kills = Number(process.env['SVC_TEST_SANDBOX_KILLS'] ?? 2);

/** The acknowledged state of a sandbox; `undefined`: an answer did not come. */
interface Known {
  value: number;
  status: 'running' | 'paused' | undefined;
}

describe('one sandboxd after another', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '1']);
  });
  after(() => daemon.stop());
  const later = () => ({ expires_at: Date.now() + 600_000 });
  const at = (id: string, path = '') => `/v1/sandboxes/${id}${path}`;

  test('a second one on the same directory ends at once, says why, and harms nothing', async () => {
    const id = randomUUID();
    await daemon.create(id);
    for (const words of [['run', '--warm', '0'], ['clear']]) {
      const second = run(process.execPath, [mainPath, ...words, '--dir', daemon.dir], { timeout: 60_000 });
      await assert.rejects(second, (error: Error & { code?: number; stderr?: string }) => {
        assert.equal(error.code, 1);
        assert.match(error.stderr ?? '', new RegExp(`svc: another sandboxd \\(pid ${daemon.pid}\\) holds`));
        return true;
      });
    }
    assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n');
    await daemon.call('DELETE', at(id));
  });

  test('one that is told to end leaves sandboxes running for the next', async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const [index, id] of ids.entries()) {
      assert.equal((await daemon.create(id, { backend: index === 0 ? 'v2' : 'v1' })).status, 200);
      await daemon.code(id, 'kept = 7');
      await daemon.exec(id, { shell: '(while :; do date +%s.%N > beat; sleep 0.05; done) > /dev/null 2>&1 &' });
    }
    await daemon.terminate();
    const beats = () => globSync(`${daemon.workspaces}/*/files/beat`).map((path) => readFileSync(path, 'utf8'));
    const before = beats();
    await until(() => beats().every((beat, index) => beat !== '' && beat !== before[index]), 'both to go on');
    await daemon.again();
    for (const id of ids) {
      assert.equal((await daemon.call('GET', at(id))).body['status'], 'running');
      assert.equal((await daemon.code(id, 'kept')).result, '7');
      await daemon.call('DELETE', at(id));
    }
  });

  test(`killed ${kills} times at any instant, what was acknowledged is there`, {
    timeout: 40_000 * kills,
  }, async () => {
    const known = new Map<string, Known>();
    for (let round = 0; round < kills; round += 1) {
      const stop = { asked: false };
      const workers = [work(daemon, known, stop), work(daemon, known, stop)];
      await new Promise((resolve) => setTimeout(resolve, choose(50, 1500)));
      stop.asked = true;
      await daemon.kill();
      await Promise.all(workers);
      await daemon.again();
      await verify(round, known);
    }
    for (const id of known.keys()) assert.equal((await daemon.call('DELETE', at(id))).status, 204);
    const { body } = await daemon.call<{ sandboxes: { id: string }[] }>('GET', '/v1/sandboxes');
    for (const { id } of body.sandboxes) await daemon.call('DELETE', at(id));
    await daemon.terminate();
    for (const place of ['live', 'snapshots', 'sandboxes', 'runsc']) {
      assert.deepEqual(readdirSync(join(daemon.dir, place)), [], place);
    }
    await until(async () => (await processesOf(`${daemon.dir}/`)).length === 0, 'no process');
    await daemon.again();
    assert.deepEqual((await daemon.call<{ sandboxes: unknown[] }>('GET', '/v1/sandboxes')).body.sandboxes, []);
    const held = readdirSync(join(daemon.dir, 'live'));
    assert.deepEqual(
      readdirSync(daemon.workspaces).filter((name) => !held.includes(name)),
      [],
    );
  });

  async function verify(round: number, known: Map<string, Known>): Promise<void> {
    for (const [id, { status, value }] of known) {
      const found = await daemon.call('GET', at(id));
      const now = found.body['status'];
      if (status === undefined) {
        // Whatever it was about to be: it is that or what it was, or it is not there.
        if (found.status === 404) {
          known.delete(id);
          continue;
        }
        // Ended, and not yet removed.
        if (now === 'stopped' && op.get(id) === 'delete') {
          assert.equal((await daemon.call('DELETE', at(id))).status, 204);
          known.delete(id);
          continue;
        }
        assert.ok(now === 'running' || now === 'paused', `round ${round}: ${op.get(id)} ${JSON.stringify(found.body)}`);
      } else assert.equal(now, status, `round ${round}: ${op.get(id)} ${JSON.stringify(found.body)}`);
      if (now === 'paused') {
        const resumed = await daemon.call('POST', at(id, '/resume'), later());
        assert.equal(resumed.status, 200, JSON.stringify(resumed.body));
        if (status === 'paused') assert.equal(resumed.body['restored'], true, `round ${round}: ${id}`);
        if (resumed.body['restored'] !== true) {
          await daemon.call('DELETE', at(id));
          known.delete(id);
          continue;
        }
      }
      if (status !== undefined) assert.equal((await daemon.code(id, 'value')).result, String(value), `round ${round}`);
      assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n', `round ${round}`);
      known.set(id, { status: 'running', value });
      if (status === undefined) await daemon.code(id, `value = ${value}`);
    }
  }
});

/** Does to sandboxes what callers do, until sandboxd is gone. */
async function work(daemon: Daemon, known: Map<string, Known>, stop: { asked: boolean }): Promise<void> {
  const mine = [...known.keys()].filter((id) => !busyIds.has(id)).slice(0, 2);
  for (const id of mine) busyIds.add(id);
  try {
    while (!stop.asked) await step(daemon, known, mine);
  } catch (error) {
    // The connection went with sandboxd.
    if (error instanceof assert.AssertionError) throw error;
  } finally {
    for (const id of mine) busyIds.delete(id);
  }
}

/** The last operation on each sandbox. */
const op = new Map<string, string>();
/** Sandboxes that one of the workers has. */
const busyIds = new Set<string>();

async function step(daemon: Daemon, known: Map<string, Known>, mine: string[]): Promise<void> {
  const later = { expires_at: Date.now() + 600_000 };
  const id = mine[choose(0, Math.max(1, mine.length))];
  const value = choose(0, 1_000_000);
  const enter = async (fresh: string): Promise<void> => {
    await daemon.code(fresh, `value = ${value}`);
    known.set(fresh, { status: 'running', value });
  };
  if (id === undefined || (mine.length < 2 && choose(0, 2) === 0)) {
    const fresh = randomUUID();
    known.set(fresh, { status: undefined, value });
    mine.push(fresh);
    op.set(fresh, 'create');
    busyIds.add(fresh);
    const made = await daemon.create(fresh);
    assert.equal(made.status, 200, JSON.stringify(made.body));
    return await enter(fresh);
  }
  const was = known.get(id) as Known;
  const kind = choose(0, 6);
  const isFork = kind === 4 && known.size < 6;
  op.set(id, isFork ? 'fork' : (['exec', 'exec', 'pause', 'pause'][kind] ?? 'delete'));
  known.set(id, { ...was, status: undefined });
  if (kind <= 1) {
    known.set(id, was);
    await daemon.exec(id, { shell: 'sleep 0.1; echo x > file' });
  } else if (kind <= 3) {
    const paused = await daemon.call<{ memory: boolean }>('POST', `/v1/sandboxes/${id}/pause`);
    assert.deepEqual([paused.status, paused.body.memory], [200, true]);
    known.set(id, { ...was, status: 'paused' });
    if (choose(0, 2) === 0) await new Promise((resolve) => setTimeout(resolve, 200));
    known.set(id, { ...was, status: undefined });
    const resumed = await daemon.call('POST', `/v1/sandboxes/${id}/resume`, later);
    assert.deepEqual([resumed.status, resumed.body['restored']], [200, true]);
    known.set(id, was);
  } else if (isFork) {
    known.set(id, was);
    const child = randomUUID();
    known.set(child, { status: undefined, value: was.value });
    busyIds.add(child);
    mine.push(child);
    const forked = await daemon.call<{ children: { restored: boolean }[] }>('POST', `/v1/sandboxes/${id}/fork`, {
      children: [{ id: child, ...later }],
    });
    assert.equal(forked.body.children[0]?.restored, true, JSON.stringify(forked.body));
    known.set(child, { status: 'running', value: was.value });
  } else {
    const gone = await daemon.call('DELETE', `/v1/sandboxes/${id}`);
    assert.equal(gone.status, 204);
    known.delete(id);
    mine.splice(mine.indexOf(id), 1);
    busyIds.delete(id);
  }
}
