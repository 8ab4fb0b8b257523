import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Daemon, processesOf, skip, startDaemon, until } from '../testing.ts';

describe('sandboxes and the end of those that hold them', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
  });
  after(() => daemon.stop());

  const entries = (name: string): string[] =>
    readdirSync(name === 'workspaces' ? daemon.workspaces : join(daemon.dir, name));
  /** Waits until nothing of a sandbox is on the machine but what is named. */
  const isEmpty = async (places: readonly string[]): Promise<void> => {
    await until(async () => (await processesOf(join(daemon.dir, 'live/'))).length === 0, 'no process');
    for (const place of places) await until(() => entries(place).length === 0, `${place} empty`);
  };
  const stateOf = async (id: string) => (await daemon.call(`GET`, `/v1/sandboxes/${id}`)).body;

  test('a sandboxd that is killed loses no sandbox of v1 or v2, nor one that stands still, and each ends at its time without it', async () => {
    // One of each, so that a kill is one of both.
    const ids = [randomUUID(), randomUUID()];
    for (const [n, id] of ids.entries()) {
      await daemon.create(id, { backend: n === 0 ? 'v1' : 'v2' });
      await daemon.code(id, 'kept = 5');
    }
    await daemon.kill();
    await daemon.again();
    for (const id of ids) {
      assert.equal((await stateOf(id))['status'], 'running');
      assert.equal((await daemon.code(id, 'kept')).result, '5');
      await daemon.call('PUT', `/v1/sandboxes/${id}/frozen`, { frozen: true });
    }
    await daemon.kill();
    await daemon.again();
    for (const id of ids) {
      const { status, frozen_at: since } = await stateOf(id);
      assert.deepEqual([status, typeof since], ['running', 'number']);
      await daemon.call('PUT', `/v1/sandboxes/${id}/frozen`, { frozen: false });
      assert.equal((await daemon.code(id, 'kept + 1')).result, '6');
    }
    for (const id of ids) await daemon.call('PATCH', `/v1/sandboxes/${id}`, { expires_at: Date.now() + 1500 });
    await daemon.kill();
    await until(async () => (await processesOf(`main.mjs\0${daemon.dir}`)).length === 0, 'no shim');
    await daemon.again();
    for (const id of ids) {
      const { status, reason } = await stateOf(id);
      assert.deepEqual([status, reason], ['stopped', 'expired']);
    }
    await isEmpty(['live', 'workspaces']);
    for (const id of ids) await daemon.call('DELETE', `/v1/sandboxes/${id}`);
    await isEmpty(['sandboxes']);
  });

  for (const backend of ['v2', 'v1'] as const) {
    test(`a shim that is killed takes its ${backend} sandbox with it, and nothing stays`, async () => {
      const id = randomUUID();
      await daemon.create(id, { backend });
      const mark = String(10_000_000 + Math.floor(Math.random() * 80_000_000));
      await daemon.exec(id, { shell: `setsid sleep ${mark} > /dev/null 2>&1 &` });
      process.kill(await shimOf(daemon), 'SIGKILL');
      await until(async () => (await processesOf(mark)).length === 0, 'no process of the user');
      await until(async () => (await stateOf(id))['status'] === 'stopped', 'the sandbox to be stopped');
      assert.equal((await stateOf(id))['reason'], 'crashed');
      await isEmpty(['live', 'runsc']);
      await daemon.call('DELETE', `/v1/sandboxes/${id}`);
      await isEmpty(['workspaces', 'sandboxes']);
    });
  }

  test('a sandbox that ends while the disk is full is stopped, and nothing of it stays', async () => {
    const id = randomUUID();
    await daemon.create(id, { backend: 'v1' });
    const records = join(daemon.dir, 'sandboxes');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=1', 'tmpfs', records]);
    try {
      process.kill(await shimOf(daemon), 'SIGKILL');
      await until(async () => (await stateOf(id))['status'] === 'stopped', 'the sandbox to be stopped');
      await isEmpty(['live']);
    } finally {
      execFileSync('umount', [records]);
    }
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
    await isEmpty(['workspaces', 'sandboxes']);
  });

  test('what is half made when sandboxd is killed is gone with the next one', async () => {
    for (const wait of ['live', 'workspaces']) {
      const made = daemon.create(randomUUID()).catch(() => undefined);
      await until(() => entries(wait).length > 0, 'the sandbox to be begun');
      await daemon.kill();
      await made;
      await daemon.again();
      const { body } = await daemon.call<{ sandboxes: { id: string }[] }>('GET', '/v1/sandboxes');
      for (const { id } of body.sandboxes) await daemon.call('DELETE', `/v1/sandboxes/${id}`);
      await isEmpty(['live', 'workspaces', 'sandboxes']);
    }
  });

  test('what cannot be found again of one sandbox is no matter of the others', async () => {
    const [id, gone] = [randomUUID(), randomUUID()];
    await daemon.create(id, { backend: 'v1' });
    await daemon.code(id, 'kept = 5');
    await daemon.kill();
    const file = (name: string) => join(daemon.dir, 'sandboxes', `${name}.json`);
    const record = JSON.parse(readFileSync(file(id), 'utf8')) as object;
    for (const text of ['', '{', 'null', '{}', JSON.stringify(record)]) writeFileSync(file(randomUUID()), text);
    // A pause whose shim ended as it should, and whose snapshot is not there.
    const instance = randomUUID();
    writeFileSync(file(gone), JSON.stringify({ ...record, id: gone, instance, backend: 'v2', status: 'pausing' }));
    mkdirSync(join(daemon.dir, 'live', instance));
    writeFileSync(join(daemon.dir, 'live', instance, 'ended.json'), '{"reason":"exited","code":0}');
    await daemon.again();
    const { body } = await daemon.call<{ sandboxes: { id: string; status: string }[] }>('GET', '/v1/sandboxes');
    assert.deepEqual(
      new Map(body.sandboxes.map((each) => [each.id, each.status])),
      new Map([
        [id, 'running'],
        [gone, 'paused'],
      ]),
    );
    assert.equal((await daemon.code(id, 'kept')).result, '5');
    for (const each of [id, gone]) await daemon.call('DELETE', `/v1/sandboxes/${each}`);
    await isEmpty(['live', 'workspaces']);
    for (const name of entries('sandboxes')) rmSync(join(daemon.dir, 'sandboxes', name));
  });

  test('a sandboxd that is told to stop lets the command end that somebody waits for', async () => {
    const id = randomUUID();
    await daemon.create(id, { backend: 'v1' });
    const waiting = 'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo done';
    const running = daemon.exec(id, { shell: waiting });
    const begun = () => globSync(`${daemon.workspaces}/*/files/begun`);
    await until(() => begun().length === 1, 'the command to begin');
    const stopped = daemon.terminate();
    writeFileSync(join(dirname(begun()[0] ?? ''), 'go'), '');
    assert.equal((await running).stdout, 'done\n');
    await stopped;
    await daemon.again();
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });

  test('a pause that sandboxd did not live to finish leaves the files at least, and a paused sandbox survives', async () => {
    const id = randomUUID();
    await daemon.create(id);
    await daemon.code(id, 'open("kept", "w").write("k")\nkept = 5');
    const paused = daemon.call('POST', `/v1/sandboxes/${id}/pause`).catch(() => undefined);
    await until(() => entries('snapshots').length > 0, 'the snapshot to be begun');
    await daemon.kill();
    await paused;
    await daemon.again();
    if ((await stateOf(id))['status'] === 'running') await daemon.call('POST', `/v1/sandboxes/${id}/pause`);
    await daemon.kill();
    await daemon.again();
    assert.equal((await stateOf(id))['status'], 'paused');
    const resumed = await daemon.call('POST', `/v1/sandboxes/${id}/resume`, { expires_at: Date.now() + 600_000 });
    assert.equal(resumed.status, 200);
    assert.equal((await daemon.exec(id, { cmd: ['cat', 'kept'] })).stdout, 'k');
    if (resumed.body['restored']) assert.equal((await daemon.code(id, 'kept')).result, '5');
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
    await isEmpty(['live', 'workspaces', 'sandboxes', 'snapshots']);
  });
});

/** The shim of the one sandbox of a daemon: the one whose socket is there. */
async function shimOf(daemon: Daemon): Promise<number> {
  const socket = readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .find((line) => line.includes(join(daemon.dir, 'live')) && line.endsWith('/shim.sock'));
  const inode = socket?.trim().split(/ +/)[6];
  for (const pid of await processesOf(`main.mjs\0${daemon.dir}`)) {
    try {
      const held = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
      if (held.includes(`socket:[${inode}]`)) return pid;
    } catch {
      // It ended meanwhile.
    }
  }
  throw new Error('no shim');
}
