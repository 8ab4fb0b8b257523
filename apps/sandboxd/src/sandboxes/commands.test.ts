import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { globSync, unlinkSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { type Daemon, type Executed, skip, startDaemon, until } from '../testing.ts';

const exitOf = ({ last }: Executed) =>
  last?.type === 'exit' ? { code: last.exit_code, late: last.timed_out } : undefined;

for (const backend of ['v2', 'v1'] as const) {
  describe(`commands on ${backend}`, { skip }, () => {
    let daemon: Daemon;
    const id = randomUUID();
    before(async () => {
      daemon = await startDaemon(['--warm', '0']);
      const made = await daemon.create(id, { backend });
      assert.equal(made.status, 200, JSON.stringify(made.body));
    });
    after(() => daemon.stop());

    test('a command has its streams, its input and its exit code', async () => {
      const done = await daemon.exec(id, {
        shell: 'cat; echo oops >&2; echo $WORD; exit 7',
        stdin: 'in\n',
        env: { WORD: 'w' },
      });
      assert.deepEqual([done.stdout, done.stderr, exitOf(done)], ['in\nw\n', 'oops\n', { code: 7, late: false }]);
      assert.equal(done.events[0]?.type, 'start');
    });

    test('an input of 1 MiB arrives whole', async () => {
      const done = await daemon.exec(id, { cmd: ['wc', '-c'], stdin: 'x'.repeat(1_048_576) });
      assert.equal(done.stdout.trim(), '1048576');
    });

    test('a command that a signal ended has 128 + n', async () => {
      assert.deepEqual(exitOf(await daemon.exec(id, { shell: 'kill -TERM $$' })), { code: 143, late: false });
    });

    test('a cmd that is not there has no exit code, in a shell 127', async () => {
      const done = await daemon.exec(id, { cmd: ['no-such-command'] });
      assert.deepEqual(exitOf(done), { code: null, late: false });
      assert.match(done.stderr, /no-such-command: No such file/);
      assert.deepEqual(
        done.events.map(({ type }) => type),
        ['start', 'stderr', 'exit'],
      );
      assert.deepEqual(exitOf(await daemon.exec(id, { shell: 'no-such-command' })), { code: 127, late: false });
    });

    test('past its time a command is ended with everything it started', async () => {
      const done = await daemon.exec(id, { shell: 'sleep 4321 & sleep 4322', timeout_ms: 500 });
      assert.deepEqual(exitOf(done), { code: null, late: true });
      const left = await daemon.exec(id, {
        shell: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "432[1]" || true',
      });
      assert.equal(left.stdout.trim(), '0');
    });

    test('a command and a cell that are ended take along what forked twice into a session of its own, with no environment left', async () => {
      const daemonize = (seconds: number) =>
        `import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open('daemon', 'w').write(str(os.getpid()))
os.execve('/bin/sleep', ['sleep', '${seconds}'], {})`;
      const count = async (word: string) =>
        (
          await daemon.exec(id, { shell: `cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "${word}" || true` })
        ).stdout.trim();
      // One that an earlier command left behind on purpose stays.
      await daemon.exec(id, { language: 'python', code: daemonize(4401) });
      await daemon.exec(id, { shell: 'until grep -q . daemon; do sleep 0.05; done; rm daemon' });
      const late = `cat > d.py; python3 d.py; until grep -q . daemon; do sleep 0.05; done; rm daemon; sleep 4402`;
      const done = await daemon.exec(id, { shell: late, stdin: daemonize(4402), timeout_ms: 5_000 });
      assert.deepEqual(exitOf(done), { code: null, late: true });
      assert.deepEqual([await count('440[1]'), await count('440[2]')], ['1', '0']);
      // Of a cell too, whose process is replaced when its time is over.
      const cell = `import subprocess, sys, time
subprocess.run([sys.executable, '-c', ${JSON.stringify(daemonize(4403))}])
while not os.path.exists('daemon'): time.sleep(0.05)
while True: pass`;
      await daemon.code(id, `import os\n${cell}`, 5_000);
      await until(async () => (await count('440[3]')) === '0', 'the one of the cell is gone');
      await daemon.exec(id, { shell: 'pkill -f "sleep 4401"' });
    });

    test('what a command leaves in the background holds nothing open and lives on', async () => {
      const done = await daemon.exec(id, { shell: '(sleep 1; touch later; sleep 60) & echo started' });
      assert.equal(done.stdout, 'started\n');
      await until(
        async () => (await daemon.exec(id, { shell: 'ls later' })).stdout === 'later\n',
        'the file of the background',
      );
    });

    test('a command and a cell end though something goes on writing in the background', async () => {
      const done = await daemon.exec(id, { shell: 'yes & echo $! > yes.pid' });
      assert.deepEqual(exitOf(done), { code: 0, late: false });
      await daemon.exec(id, { shell: 'kill $(cat yes.pid)' });
      const cell = await daemon.code(id, 'import subprocess\nnoise = subprocess.Popen(["yes"])\n1');
      assert.equal(cell.result, '1');
      assert.equal((await daemon.code(id, 'noise.kill()\n2')).result, '2');
    });

    test('each stream is cut at 1 MiB, said once, and the command goes on', async () => {
      const done = await daemon.exec(id, { shell: 'head -c 3000000 /dev/zero | tr "\\0" a; echo end >&2' });
      assert.equal(done.stdout.length, 1_048_576);
      assert.deepEqual(
        done.events.filter(({ type }) => type === 'truncated'),
        [{ type: 'truncated', stream: 'stdout' }],
      );
      assert.deepEqual([done.stderr, exitOf(done)], ['end\n', { code: 0, late: false }]);
    });

    test('a directory outside of the workspace is refused, also behind a link', async () => {
      await daemon.exec(id, { shell: 'mkdir -p sub; ln -sfn /etc away' });
      assert.equal((await daemon.exec(id, { cmd: ['pwd'], cwd: 'sub' })).stdout, '/workspace/sub\n');
      for (const cwd of ['/etc', '..', 'away', 'none']) {
        assert.equal((await daemon.exec(id, { cmd: ['pwd'], cwd })).status, 400, cwd);
      }
    });

    test('a shell and code of both languages run, also when they are long', async () => {
      const python = await daemon.exec(id, { language: 'python', code: 'import sys; print(sys.version_info[0])' });
      assert.equal(python.stdout, '3\n');
      const bash = await daemon.exec(id, { language: 'bash', code: `# ${'x'.repeat(200_000)}\necho $((6*7))` });
      assert.equal(bash.stdout, '42\n');
      // 65,536 characters are 256 KiB here, and one argument at most 128.
      const shell = `# ${'\u{1f600}'.repeat(65_000)}\nshopt -q login_shell && echo $((6*7)); ls -A /tmp | grep -c code-`;
      assert.equal((await daemon.exec(id, { shell })).stdout, '42\n1\n');
      assert.equal((await daemon.exec(id, { shell: 'ls -A /tmp | grep -c code-' })).stdout, '0\n');
    });

    test('only one thing runs at a time', async () => {
      const first = daemon.exec(id, { shell: 'touch busy; while [ -e busy ]; do sleep 0.05; done' });
      await until(async () => (await daemon.exec(id, { cmd: ['true'] })).status === 409, 'the sandbox to be busy');
      const cell = await daemon.call('POST', `/v1/sandboxes/${id}/run_code`, { code: '1', timeout_ms: 1000 });
      assert.equal(cell.status, 409);
      const busy = () => globSync(`${daemon.workspaces}/*/busy`);
      await until(() => busy().length === 1, 'the command to begin');
      for (const path of busy()) unlinkSync(path);
      assert.deepEqual(exitOf(await first), { code: 0, late: false });
    });

    test('files that a command writes below out are told with their hash', async () => {
      const done = await daemon.exec(id, { shell: 'printf abc > out/a.txt' });
      assert.deepEqual(done.last?.type === 'exit' && done.last.outputs, [
        { path: 'out/a.txt', sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', bytes: 3 },
      ]);
    });

    test('user code is user 1000 and neither reads nor ends the agent', async () => {
      const done = await daemon.exec(id, {
        shell:
          'id -u; head -c1 /proc/1/mem; for fd in /proc/1/fd/*; do [ "$(readlink $fd)" = /dev/null ] || (echo > $fd) && echo reached $fd; done; kill -9 1; kill -STOP 1; echo alive',
      });
      assert.doesNotMatch(done.stdout, /reached \/proc\/1\/fd\/[0-9].*(?:pipe|host)/);
      assert.match(done.stdout, /^1000\n[\s\S]*alive\n$/);
      assert.equal((await daemon.exec(id, { cmd: ['true'] })).status, 200);
    });

    test('a memory hog and a full disk end inside', async () => {
      const hog = await daemon.exec(id, {
        language: 'python',
        code: 'x = []\nwhile True: x.append(bytearray(30_000_000))',
      });
      assert.deepEqual(exitOf(hog), { code: 137, late: false });
      const full = await daemon.exec(id, { shell: 'head -c 2G /dev/zero > /tmp/full; echo $?; rm /tmp/full' });
      assert.match(full.stdout, /^1\n$/);
      assert.equal((await daemon.exec(id, { cmd: ['echo', 'here'] })).stdout, 'here\n');
    });

    test('a cell has its value, its output, its error and the state of those before', async () => {
      await daemon.code(id, 'import sys\nvalue = 41');
      const good = await daemon.code(id, 'print("out"); print("err", file=sys.stderr)\nvalue + 1');
      assert.deepEqual([good.result, good.stdout, good.stderr, good.error], ['42', 'out\n', 'err\n', null]);
      const bad = await daemon.code(id, 'def f():\n    return 1 / 0\nf()');
      assert.equal(bad.error?.name, 'ZeroDivisionError');
      assert.match(bad.error?.traceback ?? '', /line 2, in f\n.*return 1 \/ 0/);
      assert.doesNotMatch(bad.error?.traceback ?? '', /kernel\.py/);
    });

    test('a cell past its time, and one that ends the process, start the kernel anew', async () => {
      await daemon.code(id, 'kept = 1');
      const late = await daemon.code(id, 'while True: pass', 500);
      assert.deepEqual([late.kernel_restarted, late.error !== null], [true, true]);
      assert.equal((await daemon.code(id, 'kept')).error?.name, 'NameError');
      const dead = await daemon.code(id, 'import os; print("last words", flush=True); os._exit(3)');
      assert.deepEqual([dead.kernel_restarted, dead.stdout], [true, 'last words\n']);
      const stubborn = await daemon.code(
        id,
        'while True:\n  try:\n    while True: pass\n  except BaseException: pass',
        500,
      );
      assert.equal(stubborn.kernel_restarted, true);
      assert.equal((await daemon.code(id, '1 + 1')).result, '2');
    });

    test('what user code says in the name of the kernel ends the kernel at most', async () => {
      const say = (text: string): string =>
        `import os\nfor fd in range(3, 64):\n  try: os.write(fd, ${text})\n  except OSError: pass`;
      const told = await daemon.code(id, say(`b'{"images": 5, "result": {"a": []}, "error": {"name": 1}}\\n'`));
      assert.deepEqual([told.images, told.result, told.error?.name], [[], null, '']);
      // What the cell itself answered might come to the next one.
      assert.equal((await daemon.call('POST', `/v1/sandboxes/${id}/kernel/reset`)).status, 204);
      const deep = await daemon.code(id, say(`b'['*60_000 + b'\\n'`));
      assert.equal(deep.error?.name, 'KernelDied');
      assert.equal((await daemon.code(id, '1 + 1')).result, '2');
    });

    test('figures of a cell are files of the workspace', async () => {
      const drawn = await daemon.code(id, 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone');
      assert.equal(drawn.images.length, 1);
      assert.match((await daemon.exec(id, { cmd: ['head', '-c', '4', drawn.images[0] ?? ''] })).stdout, /PNG/);
    });

    test('a connection to a port inside carries bytes both ways and its half-close', async () => {
      const code =
        'import socket\ns = socket.create_server(("127.0.0.1", 3210))\nprint("up", flush=True)\nwhile True:\n  c, _ = s.accept()\n  data = b""\n  while (part := c.recv(65536)): data += part\n  c.sendall(data[::-1]); c.close()';
      await daemon.exec(id, {
        shell: `cat > server.py; setsid python3 server.py > up 2>&1 & until grep -q up up; do sleep 0.05; done`,
        stdin: code,
      });
      const stream = await daemon.port(id, 3210);
      const sent = `${'ab'.repeat(500_000)}!`;
      let got = '';
      stream.on('data', (chunk: Buffer) => {
        got += chunk.toString();
      });
      stream.end(sent);
      await once(stream, 'end');
      assert.equal(got, sent.split('').toReversed().join(''));
      await assert.rejects(daemon.port(id, 3211), /404/);
    });

    test('a caller that goes away takes its command with it', async () => {
      const asked = request({
        socketPath: `${daemon.dir}/sandboxd.sock`,
        method: 'POST',
        path: `/v1/sandboxes/${id}/exec`,
      });
      asked.on('error', () => {});
      asked.end(JSON.stringify({ shell: 'echo go; sleep 4777', timeout_ms: 60_000 }));
      const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
      await once(response, 'data');
      asked.destroy();
      await until(async () => (await daemon.exec(id, { cmd: ['true'] })).status === 200, 'the sandbox to be free');
      const left = await daemon.exec(id, {
        shell: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "477[7]" || true',
      });
      assert.equal(left.stdout.trim(), '0');
    });
  });
}
