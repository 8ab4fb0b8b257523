import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Daemon, skip, startDaemon, until } from '../testing.ts';

/** All of it on both backends takes three minutes: without this each hog is let loose on one of them. */
const everywhere = process.env['SVC_TEST_ESCAPES'] === 'all';

const hogs: Record<string, Record<string, unknown>> = {
  'a bomb of threads': {
    language: 'python',
    code: 'import threading\ndef spin():\n  while True: pass\nwhile True:\n  try: threading.Thread(target=spin, daemon=True).start()\n  except RuntimeError: pass',
  },
  'a bomb of shells': { shell: 'bomb() { bomb | bomb & }; bomb; sleep 20' },
  'memory by one': { language: 'python', code: 'x = []\nwhile True: x.append(bytearray(20_000_000))' },
  'a bomb that outlives its command': { shell: 'setsid bash -c "bomb() { bomb | bomb & }; bomb" & sleep 0.2' },
  'memory by many processes': {
    language: 'python',
    code: 'import os, time\nfor _ in range(40):\n  if os.fork() == 0:\n    x = bytearray(60_000_000)\n    time.sleep(30)\ntime.sleep(30)',
  },
  'a bomb of Pythons that spin': {
    language: 'python',
    code: 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass',
  },
};

const isMemoryHere = existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes');

for (const backend of ['v2', 'v1'] as const) {
  describe(`what takes too much in a ${backend} sandbox`, { skip }, () => {
    let daemon: Daemon;
    const id = randomUUID();
    before(async () => {
      daemon = await startDaemon(['--warm', '0']);
      assert.equal((await daemon.create(id, { backend })).status, 200);
    });
    after(() => daemon.stop());
    const status = async (of = id) => (await daemon.call('GET', `/v1/sandboxes/${of}`)).body;

    for (const [index, [name, body]] of Object.entries(hogs).entries()) {
      if (!everywhere && (index % 2 === 0) !== (backend === 'v2')) continue;
      test(`${name} ends inside, and the next command runs`, async (t) => {
        await daemon.code(id, 'kept = 1');
        const began = performance.now();
        const done = await daemon.exec(id, { ...body, timeout_ms: 3000 });
        const ended = performance.now();
        assert.ok(done.last?.type === 'exit', JSON.stringify(done.last ?? done));
        assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n');
        const calm = performance.now() - ended;
        t.diagnostic(`${Math.round(ended - began)} ms, then ${Math.round(calm)} ms; ${JSON.stringify(done.last)}`);
        assert.equal((await status())['status'], 'running');
        // Code that had nothing to do with it lives on.
        const cell = await daemon.code(id, 'kept');
        assert.deepEqual([cell.result, cell.kernel_restarted], ['1', false]);
      });
    }

    test('as many threads as the document says run, and more end what started them', async () => {
      await daemon.code(id, 'kept = 1');
      const threads = (count: number) => `import threading, time
go = threading.Event()
made = 0
for made in range(1, ${count} + 1):
  # The agent's own look at the limit takes a place for an instant: one refusal does not mean that it is reached.
  for _ in range(200):
    try: threading.Thread(target=go.wait, daemon=True).start(); break
    except RuntimeError: time.sleep(0.1)
print(made)`;
      const most = await daemon.exec(id, { language: 'python', code: threads(450) });
      assert.equal(most.stdout, '450\n', most.stderr);
      const over = await daemon.exec(id, { language: 'python', code: threads(600) });
      assert.equal(over.last?.type === 'exit' && over.last.exit_code, 137, JSON.stringify(over));
      assert.match(over.stderr, /svc: the limit of this sandbox, 512 processes and threads, was reached/);
      assert.equal((await daemon.code(id, 'kept')).result, '1');
    });

    if (backend === 'v1' || everywhere) {
      test('memory file systems are full before the machine is, one after the other', async () => {
        const fill = (path: string) => `head -c 2G /dev/zero > ${path}/full 2> /dev/null; echo $?`;
        const places = ['/dev/shm', '/tmp', '/var/tmp', '$HOME'];
        const done = await daemon.exec(id, { shell: places.map(fill).join('; '), timeout_ms: 60_000 });
        assert.equal(done.stdout, '1\n1\n1\n1\n');
        assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n');
        await daemon.exec(id, { shell: places.map((path) => `rm ${path}/full`).join('; ') });
        assert.equal((await status())['status'], 'running');
      });

      test('a workspace over 2 GB is an error at the end of its command, one over its quota fails inside', async () => {
        const over = await daemon.exec(id, { shell: 'head -c 2100M /dev/zero > big', timeout_ms: 60_000 });
        assert.deepEqual(
          [over.last?.type, over.last?.type === 'error' && over.last.code],
          ['error', 'workspace_too_large'],
        );
        const full = await daemon.exec(id, { shell: 'head -c 4G /dev/zero > big', timeout_ms: 100_000 });
        assert.match(full.stderr, /quota exceeded|No space left/i);
        assert.equal((await daemon.exec(id, { shell: 'rm big' })).last?.type, 'exit');
      });
    }

    // In gVisor as many files take minutes to make; the watch over them is the same.
    if (backend === 'v1' && everywhere) {
      test('files without end are ended, and a neighbour writes on', async () => {
        const neighbour = randomUUID();
        await daemon.create(neighbour, { backend });
        const code = 'import os\nos.mkdir("many")\ni = 0\nwhile True:\n  open(f"many/{i}", "w").close()\n  i += 1';
        const done = await daemon.exec(id, { language: 'python', code, timeout_ms: 200_000 });
        assert.deepEqual(
          [done.last?.type, done.last?.type === 'error' && done.last.code],
          ['error', 'workspace_too_large'],
        );
        assert.equal(
          (await daemon.exec(neighbour, { shell: 'head -c 50M /dev/zero > big; wc -c < big' })).stdout,
          '52428800\n',
        );
        await daemon.exec(id, { shell: 'rm -r many', timeout_ms: 200_000 });
        assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n');
      });
    }

    // Only there does the limit of the machine stand above the one that the agent keeps.
    if (backend === 'v2') {
      test('ended by the limit of the machine, a sandbox is stopped for its memory', {
        skip: !isMemoryHere && 'no version 1 memory hierarchy',
      }, async () => {
        const doomed = randomUUID();
        await daemon.create(doomed, { backend });
        const record = JSON.parse(readFileSync(join(daemon.dir, 'sandboxes', `${doomed}.json`), 'utf8')) as {
          instance: string;
        };
        const [group = ''] = globSync(`/sys/fs/cgroup/memory/svc-*/${record.instance}`);
        const used = Number(readFileSync(join(group, 'memory.usage_in_bytes'), 'utf8'));
        writeFileSync(join(group, 'memory.limit_in_bytes'), String(used + 64 * 1024 ** 2));
        const done = await daemon.exec(doomed, hogs['memory by one'] ?? {});
        assert.deepEqual(
          [done.last?.type, done.last?.type === 'error' && done.last.code],
          ['error', 'sandbox_not_running'],
        );
        await until(async () => (await status(doomed))['status'] === 'stopped', 'the sandbox to be stopped');
        assert.equal((await status(doomed))['reason'], 'memory');
      });
    }
  });
}
