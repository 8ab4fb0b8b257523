import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Daemon, skip, startDaemon } from '../testing.ts';

describe('pause, resume and fork', { skip }, () => {
  let daemon: Daemon;
  const id = randomUUID();
  const later = () => ({ expires_at: Date.now() + 600_000 });
  before(async () => {
    daemon = await startDaemon(['--warm', '1']);
    assert.equal((await daemon.create(id)).status, 200);
  });
  after(() => daemon.stop());

  test('ten times over, memory, processes, open files and the workspace come back', async () => {
    await daemon.code(id, 'import os\nf = open("/workspace/log", "w")\nhistory = []\nf.write("0"); f.flush()');
    await daemon.exec(id, { shell: 'head -c 3000000 /dev/urandom > blob; sha256sum blob > sum; (sleep 987654) & ' });
    for (let round = 1; round <= 10; round += 1) {
      await daemon.code(id, `history.append(${round}); f.write("${round}"); f.flush()`);
      const paused = await daemon.call<{ memory: boolean }>('POST', `/v1/sandboxes/${id}/pause`);
      assert.deepEqual([paused.status, paused.body.memory], [200, true]);
      assert.equal((await daemon.exec(id, { cmd: ['true'] })).status, 409);
      const resumed = await daemon.call<{ restored: boolean }>('POST', `/v1/sandboxes/${id}/resume`, later());
      assert.deepEqual([resumed.status, resumed.body.restored], [200, true]);
    }
    assert.equal((await daemon.code(id, 'history')).result, '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]');
    const done = await daemon.exec(id, { shell: 'cat log; echo; sha256sum -c sum; pgrep -x sleep | wc -l' });
    assert.equal(done.stdout, '012345678910\nblob: OK\n1\n');
  });

  test('a file that is open and deleted costs the memory, never the files', async () => {
    const other = randomUUID();
    await daemon.create(other);
    await daemon.code(
      other,
      'x = 1\nimport os\ng = open("/workspace/gone", "w"); g.write("z"); g.flush(); os.unlink("/workspace/gone")\nopen("kept", "w").write("k")',
    );
    const paused = await daemon.call<{ memory: boolean }>('POST', `/v1/sandboxes/${other}/pause`);
    assert.deepEqual([paused.status, paused.body.memory], [200, false]);
    const resumed = await daemon.call<{ restored: boolean }>('POST', `/v1/sandboxes/${other}/resume`, later());
    assert.deepEqual([resumed.status, resumed.body.restored], [200, false]);
    assert.equal((await daemon.exec(other, { cmd: ['cat', 'kept'] })).stdout, 'k');
    await daemon.call('DELETE', `/v1/sandboxes/${other}`);
  });

  test('children of a fork have what the parent had, apart from it and from each other', async () => {
    await daemon.code(id, 'import random, numpy\nrandom.seed(1); numpy.random.seed(1)\nopen("shared", "w").write("p")');
    const children = [randomUUID(), randomUUID()].map((child) => ({ id: child, ...later() }));
    const forked = await daemon.call<{ children: { id: string; restored: boolean; error?: string }[] }>(
      'POST',
      `/v1/sandboxes/${id}/fork`,
      { children },
    );
    assert.deepEqual(
      forked.body.children.map(({ restored, error }) => [restored, error]),
      [
        [true, undefined],
        [true, undefined],
      ],
    );
    const drawn = await Promise.all(
      [id, ...children.map((child) => child.id)].map((each) =>
        daemon.code(
          each,
          'open("own", "w").write("o")\n(history[-1], open("shared").read(), random.random(), numpy.random.rand())',
        ),
      ),
    );
    for (const { result } of drawn) assert.match(result ?? '', /^\(10, 'p', /);
    assert.equal(new Set(drawn.map(({ result }) => result)).size, 3);
    await daemon.exec(children[0]?.id ?? '', { shell: 'rm shared' });
    assert.equal((await daemon.exec(id, { cmd: ['cat', 'shared'] })).stdout, 'p');
    for (const child of children) assert.equal((await daemon.call('DELETE', `/v1/sandboxes/${child.id}`)).status, 204);
  });

  test('a create is answered again with the sandbox there is', async () => {
    const again = await daemon.create(id);
    assert.deepEqual([again.status, again.body['id']], [200, id]);
  });
});
