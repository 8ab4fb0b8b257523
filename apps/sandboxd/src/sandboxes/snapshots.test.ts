import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { type Daemon, skip, startDaemon, until } from '../testing.ts';
import { type Context, enter, occupy } from './context.ts';
import type { Live } from './instances.ts';
import type { SandboxRecord } from './record.ts';
import { fork } from './snapshots.ts';

describe('pause, resume and fork', { skip }, () => {
  let daemon: Daemon;
  const id = randomUUID();
  const later = () => ({ expires_at: Date.now() + 600_000 });
  const at = (path: string, of: string = id) => `/v1/sandboxes/${of}${path}`;
  const stateOf = async (of: string = id) => (await daemon.call('GET', at('', of))).body;
  /** Mounts a small file system over a directory of the node for as long as `work` takes. */
  const withDisk = async (place: string, options: string, work: () => Promise<void>): Promise<void> => {
    const path = join(daemon.dir, place);
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path]);
    try {
      await work();
    } finally {
      execFileSync('umount', [path]);
    }
  };
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

  /** A sandbox of its own, for as long as `work` takes. */
  const withSandbox = async (work: (other: string) => Promise<void>): Promise<void> => {
    const other = randomUUID();
    assert.equal((await daemon.create(other)).status, 200);
    await work(other);
    assert.equal((await daemon.call('DELETE', at('', other))).status, 204);
  };
  const pauseOf = (of: string, body: object = {}) =>
    daemon.call<{ memory: boolean; snapshot_bytes: number; error: { code: string; message: string } }>(
      'POST',
      at('/pause', of),
      body,
    );
  const resumeOf = async (of: string): Promise<unknown> => {
    const { status, body } = await daemon.call('POST', at('/resume', of), later());
    assert.equal(status, 200, JSON.stringify(body));
    return body['restored'];
  };

  /** State that no snapshot can restore: a cell that makes it, the text of the refusal, and a cell that lets go of it. */
  const lost: Record<string, [make: string, named: RegExp, letGo: string]> = {
    'a file that is open and deleted': [
      'g = open("gone", "w"); g.write("z"); g.flush(); os.unlink("gone")',
      /\/workspace\/gone \(python3?[^)]*, process \d+\)/,
      'g.close()',
    ],
    'a file that is open and was replaced by another': [
      'g = open("log", "w"); open("log.new", "w").close(); os.rename("log.new", "log")',
      /\/workspace\/log \(/,
      'g.close()',
    ],
    'a file that is mapped and deleted': [
      'import mmap\nwith open("map", "w+b") as f:\n  f.write(bytes(4096)); f.flush(); m = mmap.mmap(f.fileno(), 4096)\nos.unlink("map")',
      /\/workspace\/map \(/,
      'm.close()',
    ],
    'a directory that a process stands in and that is removed': [
      'import subprocess\nos.mkdir("d"); p = subprocess.Popen(["sleep", "4800"], cwd="d"); os.rmdir("d")',
      /\/workspace\/d \(sleep/,
      'p.kill(); p.wait()',
    ],
  };
  for (const [what, [make, named, letGo]] of Object.entries(lost)) {
    test(`${what}: a pause says so and changes nothing, until it is let go of`, async () => {
      await withSandbox(async (other) => {
        assert.equal((await daemon.code(other, `import os; x = 1\n${make}`)).error, null);
        const refused = await pauseOf(other);
        assert.deepEqual(
          [refused.status, refused.body.error?.code],
          [409, 'memory_not_saved'],
          JSON.stringify(refused),
        );
        assert.match(refused.body.error.message, named);
        assert.equal((await stateOf(other))['status'], 'running');
        assert.deepEqual([(await daemon.code(other, letGo)).error, (await pauseOf(other)).body.memory], [null, true]);
        assert.equal(await resumeOf(other), true);
        assert.equal((await daemon.code(other, 'x')).result, '1');
      });
    });
  }

  test('with files_only a pause gives memory up and keeps the files, which resume and the next cell say', async () => {
    await withSandbox(async (other) => {
      await daemon.code(
        other,
        'x = 1\nimport os\ng = open("gone", "w"); os.unlink("gone")\nopen("kept", "w").write("k")',
      );
      await daemon.exec(other, { shell: 'head -c 3000000 /dev/urandom > blob; sync' });
      const paused = await pauseOf(other, { files_only: true });
      assert.deepEqual([paused.status, paused.body.memory], [200, false]);
      // The files are what it takes of the disk.
      assert.ok(paused.body.snapshot_bytes >= 3_000_000, String(paused.body.snapshot_bytes));
      assert.equal((await stateOf(other))['snapshot_bytes'], paused.body.snapshot_bytes);
      assert.equal(await resumeOf(other), false);
      assert.equal((await daemon.exec(other, { cmd: ['cat', 'kept'] })).stdout, 'k');
      const cell = await daemon.code(other, 'x');
      assert.deepEqual([cell.error?.name, cell.kernel_restarted], ['NameError', true]);
      assert.match(cell.restart_reason ?? '', /memory was not kept/);
      assert.equal((await daemon.code(other, '1')).kernel_restarted, false);
    });
  });

  test('what a pause can keep it keeps: a file that was uploaded anew while open, sockets, pipes, mapped libraries', async () => {
    await withSandbox(async (other) => {
      const put = (text: string) => daemon.call('PUT', `${at('/files', other)}?path=log`, text);
      assert.equal((await put('before')).status, 200);
      const made = await daemon.code(
        other,
        `import os, socket, subprocess, threading, mmap, shutil, ctypes, glob
log = open('/workspace/log')
a, b = socket.socketpair()
server = socket.create_server(('127.0.0.1', 4810))
client = socket.create_connection(('127.0.0.1', 4810)); peer, _ = server.accept()
named = socket.socket(socket.AF_UNIX); named.bind('/tmp/named'); named.listen()
pipe = os.pipe(); os.write(pipe[1], b'in the pipe')
cat = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.mkfifo('/tmp/fifo'); fifo = os.open('/tmp/fifo', os.O_RDWR)
library = shutil.copy(glob.glob('/usr/lib/x86_64-linux-gnu/libz.so*')[0], '/workspace/lib.so')
z = ctypes.CDLL(library)
deleted = open('/tmp/deleted', 'w+'); os.unlink('/tmp/deleted'); deleted.write('here'); deleted.flush()
out = open('/workspace/out/lines', 'a', buffering=1)
def tick():
    import time
    for number in range(10**9):
        print(number, file=out); time.sleep(0.001)
threading.Thread(target=tick, daemon=True).start()`,
      );
      assert.equal(made.error, null);
      assert.equal((await put('after')).status, 200);
      assert.deepEqual([(await pauseOf(other)).body.memory, await resumeOf(other)], [true, true]);
      const all = await daemon.code(
        other,
        `cat.stdin.write(b'to the child'); cat.stdin.close(); a.send(b'1'); client.send(b'2'); os.write(fifo, b'3')
deleted.seek(0)
time.sleep(0.05)
(log.read(), b.recv(9), peer.recv(9), os.read(pipe[0], 99), cat.stdout.read(), os.read(fifo, 9), z.zlibVersion() != 0, deleted.read())`.replace(
          'time.sleep',
          '__import__("time").sleep',
        ),
      );
      const value = `('"after"', b'1', b'2', b'in the pipe', b'to the child', b'3', True, 'here')`;
      assert.equal(all.result, value, JSON.stringify(all));
      // A program that ran on while its memory was written would have left lines that its memory does not know of.
      const lines = await daemon.exec(other, {
        language: 'python',
        code: 'n = [int(x) for x in open("out/lines").read().splitlines()[:-1]]\nprint(n == list(range(len(n))), len(n) > 2)',
      });
      assert.equal(lines.stdout, 'True True\n');
    });
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

  test('what a parent and its forks draw from OpenSSL differs: public, private, and in threads', async () => {
    const other = randomUUID();
    assert.equal((await daemon.create(other)).status, 200);
    const draw = `(ssl.RAND_bytes(16).hex(), there.submit(ssl.RAND_bytes, 16).result().hex(), ecdh())`;
    const setUp = `import ssl, ctypes, concurrent.futures
there = concurrent.futures.ThreadPoolExecutor(1)
crypto = ctypes.CDLL('libcrypto.so.3')
def ecdh():
    # Private keys come from a generator of their own.
    buffer = ctypes.create_string_buffer(16)
    assert crypto.RAND_priv_bytes(buffer, 16) == 1
    return buffer.raw.hex()
${draw}`;
    await daemon.code(other, setUp);
    const children = [randomUUID(), randomUUID()].map((child) => ({ id: child, ...later() }));
    assert.equal((await daemon.call('POST', at('/fork', other), { children })).status, 200);
    const drawn = await Promise.all(
      [other, ...children.map((child) => child.id)].map((each) => daemon.code(each, draw)),
    );
    const texts = drawn.map(
      ({ result, error }) => (result ?? assert.fail(JSON.stringify(error))).match(/[0-9a-f]{32}/g) ?? [],
    );
    assert.equal(texts.flat().length, 9);
    assert.equal(new Set(texts.flat()).size, 9, JSON.stringify(texts));
    for (const each of [other, ...children.map((child) => child.id)]) {
      await daemon.call('DELETE', `/v1/sandboxes/${each}`);
    }
  });

  test('two fresh sandboxes, restored from one snapshot, draw other numbers', async () => {
    const fresh = [randomUUID(), randomUUID()];
    for (const each of fresh) assert.equal((await daemon.create(each)).status, 200);
    const draw =
      'import ssl, random, uuid, numpy\n(ssl.RAND_bytes(8).hex(), random.random(), uuid.uuid4(), numpy.random.rand())';
    const drawn = await Promise.all(fresh.map((each) => daemon.code(each, draw)));
    const parts = drawn.map(({ result, error }) => (result ?? assert.fail(JSON.stringify(error))).split(', '));
    assert.ok(
      parts[0]?.every((part, at) => part !== parts[1]?.[at]),
      JSON.stringify(parts),
    );
    for (const each of fresh) await daemon.call('DELETE', `/v1/sandboxes/${each}`);
  });

  test('a connection to a port inside ends with a pause and with a fork', async () => {
    await daemon.exec(id, { shell: 'python3 -m http.server 5000 > /dev/null 2>&1 &' });
    const reached = (): Promise<boolean> =>
      daemon.port(id, 5000).then(
        (stream) => stream.destroy().destroyed,
        () => false,
      );
    await until(reached, 'the port');
    const begun = [
      () => daemon.call('POST', at('/fork'), { children: [{ id: randomUUID(), ...later() }] }),
      () => daemon.call('POST', at('/pause')),
    ];
    for (const begin of begun) {
      const stream = (await daemon.port(id, 5000)).resume();
      const closed = once(stream, 'close');
      const { status, body } = await begin();
      assert.equal(status, 200, JSON.stringify(body));
      await closed;
    }
    assert.equal((await daemon.call('POST', at('/resume'), later())).status, 200);
    for (const child of (await held()).filter((each) => each !== id)) await daemon.call('DELETE', at('', child));
  });

  const held = async (): Promise<string[]> =>
    (await daemon.call<{ sandboxes: { id: string }[] }>('GET', '/v1/sandboxes')).body.sandboxes.map((each) => each.id);

  test('a child that is destroyed while its fork is under way is gone after it', async () => {
    const children = [randomUUID(), randomUUID()];
    const [kept = '', gone = ''] = children;
    const forked = daemon.call('POST', at('/fork'), { children: children.map((child) => ({ id: child, ...later() })) });
    await until(() => readdirSync(join(daemon.dir, 'snapshots')).length > 0, 'the fork to be begun');
    assert.equal((await daemon.call('DELETE', at('', gone))).status, 204);
    assert.equal((await forked).status, 200);
    assert.deepEqual((await held()).sort(), [id, kept].sort());
    await daemon.call('DELETE', at('', kept));
  });

  test('nothing is snapshotted that a nearly full disk may not hold, and the sandbox goes on', async () => {
    await withDisk('snapshots', 'size=1g', async () => {
      for (const [path, body] of [
        ['/pause', undefined],
        ['/fork', { children: [{ id: randomUUID(), ...later() }] }],
      ] as const) {
        const refused = await daemon.call<{ error: { code: string } }>('POST', at(path), body);
        assert.equal(refused.body.error.code, 'sandbox_capacity');
      }
    });
    assert.equal((await stateOf())['status'], 'running');
    assert.equal((await daemon.code(id, 'history[-1]')).result, '10');
  });

  test('a pause and a resume that the disk does not take change nothing', async () => {
    const full = (work: () => Promise<void>) => withDisk('sandboxes', 'nr_inodes=1', work);
    await full(async () => assert.equal((await daemon.call('POST', at('/pause'))).status, 500));
    assert.equal((await stateOf())['status'], 'running');
    assert.equal((await daemon.code(id, 'history[-1]')).result, '10');
    assert.equal((await daemon.call('POST', at('/pause'))).status, 200);
    const running = () => readdirSync(join(daemon.dir, 'live')).length;
    const before = running();
    await full(async () => assert.equal((await daemon.call('POST', at('/resume'), later())).status, 500));
    assert.deepEqual([(await stateOf())['status'], running()], ['paused', before]);
    assert.equal((await daemon.call('POST', at('/resume'), later())).body['restored'], true);
    assert.equal((await daemon.code(id, 'history[-1]')).result, '10');
  });

  test('a pause that can be begun and not be written down loses nothing', async () => {
    const paused = daemon.call('POST', at('/pause'));
    await until(() => readdirSync(join(daemon.dir, 'snapshots')).length > 0, 'the pause to be begun');
    // Whether the record or the full disk came first.
    let status = 0;
    await withDisk('sandboxes', 'nr_inodes=1', async () => {
      status = (await paused).status;
      assert.ok([200, 500].includes(status));
    });
    assert.equal((await stateOf())['status'], status === 200 ? 'paused' : 'running');
    if (status === 200) assert.equal((await daemon.call('POST', at('/resume'), later())).body['restored'], true);
    assert.equal((await daemon.code(id, 'history[-1]')).result, '10');
  });

  test('a create is answered again with the sandbox there is', async () => {
    const again = await daemon.create(id);
    assert.deepEqual([again.status, again.body['id']], [200, id]);
  });
});

test('a fork whose parent does not go on leaves no copies, and the parent to the next command', async (t) => {
  const copies = new Set<string>();
  const context = {
    snapshots: await temporaryDirectory(t),
    slots: 10,
    entries: new Map(),
    creating: new Map(),
    drivers: { v2: { checkpoint: () => Promise.resolve() } },
    workspaces: {
      clone: (_from: string, to: string) => Promise.resolve(copies.add(to)),
      remove: (id: string) => Promise.resolve(copies.delete(id)),
    },
    instances: { end: () => Promise.resolve() },
    shims: { prepare() {}, refill() {} },
    log() {},
  } as unknown as Context;
  const kinds: string[] = [];
  const live = {
    group: { memoryBytes: () => Promise.resolve(0) },
    client: {
      closed: new Promise(() => {}),
      ask({ kind }: { kind: string }) {
        kinds.push(`${kind} ${copies.size}`);
        return kind === 'freeze'
          ? Promise.resolve({ deleted: [] })
          : Promise.reject(new Error('the sandbox went away'));
      },
    },
  } as unknown as Live;
  const parent = enter(
    context,
    { id: 'one', instance: 'one', backend: 'v2', status: 'running' } as SandboxRecord,
    live,
  );
  const children = ['two', 'three'].map((id) => ({ id, expires_at: Date.now() + 60_000 }));
  await assert.rejects(fork(context, 'one', children), /went away/);
  assert.deepEqual([kinds, copies.size, context.creating.size], [['freeze 0', 'unfreeze 2'], 0, 0]);
  occupy(parent, 'command');
});
