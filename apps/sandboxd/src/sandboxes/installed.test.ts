import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { tmpfsSizes } from '../drivers/oci.ts';
import { type Daemon, skip, startDaemon } from '../testing.ts';

const mib = 1024 ** 2;
const later = () => ({ expires_at: Date.now() + 600_000 });

/** Writes a module where pip does for the user. */
const install = (name: string) =>
  `base=$(python3 -m site --user-site) && mkdir -p "$base" && echo 'version = 7' > "$base/${name}.py"`;

describe('what is installed for the user', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startDaemon(['--warm', '0']);
  });
  after(() => daemon.stop());

  for (const backend of ['v2', 'v1'] as const) {
    test(`${backend}: has the room of the workspace, and is none of its files`, async () => {
      const id = randomUUID();
      assert.equal((await daemon.create(id, { backend })).status, 200);
      const bytes = tmpfsSizes['/home'] + 64 * mib;
      const made = await daemon.exec(id, { shell: `head -c ${bytes} /dev/zero > ~/.local/big; wc -c < ~/.local/big` });
      assert.equal(made.stdout, `${bytes}\n`, JSON.stringify(made));
      assert.equal((await daemon.exec(id, { shell: install('mine') })).last?.type, 'exit');
      assert.equal((await daemon.code(id, 'import mine; mine.version')).result, '7');
      // An empty directory is what `git clone … .` and the makers of projects want.
      const clone = 'ls -A; rmdir out; git init -q /tmp/there && git clone -q /tmp/there . && ls -A';
      const seen = await daemon.exec(id, { shell: clone });
      assert.equal(seen.stdout, 'out\n.git\n', seen.stderr);
      const all = await daemon.call<{ entries: { path: string }[] }>(
        'GET',
        `/v1/sandboxes/${id}/files?path=&recursive=1`,
      );
      assert.deepEqual(
        all.body.entries.filter(({ path }) => path.includes('big') || path.includes('mine')),
        [],
      );
      await daemon.call('DELETE', `/v1/sandboxes/${id}`);
    });
  }

  test('is no change of the workspace', async () => {
    const id = randomUUID();
    await daemon.create(id, { backend: 'v1' });
    await daemon.exec(id, { shell: 'sleep 0.1' });
    const { last } = await daemon.exec(id, { shell: install('mine') });
    assert.equal(last?.type === 'exit' && last.changed, false);
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });

  test('package managers keep it there, with what they fetched', async () => {
    const id = randomUUID();
    await daemon.create(id, { backend: 'v1' });
    const asked = 'npm prefix -g; npm config get cache; python3 -m site --user-base; echo $CARGO_HOME; echo $GOPATH';
    const { stdout, stderr } = await daemon.exec(id, { shell: asked });
    const places = stdout.trim().split('\n');
    assert.equal(places.length, 5, stderr);
    for (const place of places) assert.match(place, /^\/home\/user\/\.local(?:\/|$)/);
    // A program of theirs is found, in a login shell and without.
    await daemon.exec(id, {
      shell:
        'for d in ~/.local/bin $CARGO_HOME/bin; do mkdir -p $d; printf "#!/bin/sh\\necho $d\\n" > $d/it; chmod +x $d/it; done',
    });
    for (const form of [{ shell: 'it; rm ~/.local/bin/it; hash -r; it' }, { cmd: ['it'] }]) {
      assert.match((await daemon.exec(id, form)).stdout, /^\/home\/user\/\.local\//);
    }
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });

  // On v2 as much takes 20 s to write; the volume is the same.
  test('counts against the limit of the workspace', async () => {
    const id = randomUUID();
    await daemon.create(id, { backend: 'v1' });
    const over = await daemon.exec(id, { shell: 'head -c 2100M /dev/zero > ~/.local/big', timeout_ms: 100_000 });
    assert.equal(over.last?.type === 'error' && over.last.code, 'workspace_too_large', JSON.stringify(over.last));
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });

  const pause = (id: string, body: object = {}) =>
    daemon.call<{ memory: boolean; error: { message: string } }>('POST', `/v1/sandboxes/${id}/pause`, body);
  const resume = async (id: string) =>
    (await daemon.call('POST', `/v1/sandboxes/${id}/resume`, later())).body['restored'];

  test('is there after a resume with memory, and after one without', async () => {
    const id = randomUUID();
    await daemon.create(id);
    await daemon.exec(id, { shell: install('mine') });
    for (const isKept of [true, false]) {
      assert.equal((await pause(id, { files_only: !isKept })).body.memory, isKept);
      assert.equal(await resume(id), isKept);
      assert.equal((await daemon.exec(id, { shell: 'python3 -c "import mine; print(mine.version)"' })).stdout, '7\n');
      assert.equal((await daemon.code(id, 'import mine; mine.version')).result, '7');
    }
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });

  test('is there in a fork, apart from that of the parent', async () => {
    const [id, child] = [randomUUID(), randomUUID()];
    await daemon.create(id);
    await daemon.exec(id, { shell: install('mine') });
    const { body } = await daemon.call<{ children: { restored: boolean }[] }>('POST', `/v1/sandboxes/${id}/fork`, {
      children: [{ id: child, ...later() }],
    });
    assert.equal(body.children[0]?.restored, true);
    assert.equal((await daemon.exec(child, { shell: `${install('own')}; python3 -c 'import mine, own'` })).stderr, '');
    const { stderr } = await daemon.exec(id, { shell: "python3 -c 'import mine, own'" });
    assert.match(stderr, /No module named 'own'/);
    for (const each of [id, child]) await daemon.call('DELETE', `/v1/sandboxes/${each}`);
  });

  test('a pause names what is open there and was deleted: no snapshot brings it back', async () => {
    const id = randomUUID();
    await daemon.create(id);
    await daemon.code(id, 'import os\nn = os.path.expanduser("~/.local/gone")\ng = open(n, "w"); os.unlink(n)');
    const refused = await pause(id);
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /\/home\/user\/\.local\/gone \(/);
    await daemon.code(id, 'g.close()');
    assert.equal((await pause(id)).body.memory, true);
    await daemon.call('DELETE', `/v1/sandboxes/${id}`);
  });
});
