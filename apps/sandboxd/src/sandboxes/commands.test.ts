import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { globSync, unlinkSync } from 'node:fs';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Daemon, type Executed, skip, startDaemon, testWhere, until } from '../testing.ts';

const exitOf = ({ last }: Executed) =>
  last?.type === 'exit' ? { code: last.exit_code, late: last.timed_out } : undefined;

for (const backend of ['v2', 'v1'] as const) {
  // The same agent answers on both: what it does alone is proven on v1, where a command takes a tenth of the
  // processor time.
  // What the runtime below has a part in (memory, processes, users, ports, watches, places, signals) is proven on both.
  const inGuest = testWhere(backend === 'v1');
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

    inGuest('an input of 1 MiB arrives whole', async () => {
      const done = await daemon.exec(id, { cmd: ['wc', '-c'], stdin: 'x'.repeat(1_048_576) });
      assert.equal(done.stdout.trim(), '1048576');
    });

    inGuest('a command that a signal ended has 128 + n', async () => {
      assert.deepEqual(exitOf(await daemon.exec(id, { shell: 'kill -TERM $$' })), { code: 143, late: false });
    });

    inGuest('a cmd that is not there has no exit code, in a shell 127', async () => {
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

    inGuest('what a command leaves in the background holds nothing open and lives on', async () => {
      const done = await daemon.exec(id, { shell: '(sleep 1; touch later; sleep 60) & echo started' });
      assert.equal(done.stdout, 'started\n');
      await until(
        async () => (await daemon.exec(id, { shell: 'ls later' })).stdout === 'later\n',
        'the file of the background',
      );
    });

    inGuest('a command and a cell end though something goes on writing in the background', async () => {
      const done = await daemon.exec(id, { shell: 'yes & echo $! > yes.pid' });
      assert.deepEqual(exitOf(done), { code: 0, late: false });
      await daemon.exec(id, { shell: 'kill $(cat yes.pid)' });
      const cell = await daemon.code(id, 'import subprocess\nnoise = subprocess.Popen(["yes"])\n1');
      assert.equal(cell.result, '1');
      assert.equal((await daemon.code(id, 'noise.kill()\n2')).result, '2');
    });

    inGuest('each stream is cut at 1 MiB, said once, and the command goes on', async () => {
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

    inGuest('a shell and code of both languages run, also when they are long', async () => {
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
      const busy = () => globSync(`${daemon.workspaces}/*/files/busy`);
      await until(() => busy().length === 1, 'the command to begin');
      for (const path of busy()) unlinkSync(path);
      assert.deepEqual(exitOf(await first), { code: 0, late: false });
    });

    inGuest('files that a command writes below out are told with their hash', async () => {
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

    inGuest('a cell has its value, its output, its error and the state of those before', async () => {
      await daemon.code(id, 'import sys\nvalue = 41');
      const good = await daemon.code(id, 'print("out"); print("err", file=sys.stderr)\nvalue + 1');
      assert.deepEqual([good.result, good.stdout, good.stderr, good.error], ['42', 'out\n', 'err\n', null]);
      const bad = await daemon.code(id, 'def f():\n    return 1 / 0\nf()');
      assert.equal(bad.error?.name, 'ZeroDivisionError');
      assert.match(bad.error?.traceback ?? '', /line 2, in f\n.*return 1 \/ 0/);
      assert.doesNotMatch(bad.error?.traceback ?? '', /kernel\.py/);
    });

    inGuest('a cell past its time, and one that ends the process, start the kernel anew', async () => {
      await daemon.code(id, 'kept = 1');
      const late = await daemon.code(id, 'while True: pass', 500);
      assert.deepEqual(
        [late.kernel_restarted, late.error?.name, late.error?.value],
        [true, 'TimeoutError', 'the cell ran past its time of 0.5 s'],
      );
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

    inGuest('what user code says in the name of the kernel ends the kernel at most', async () => {
      const say = (text: string): string =>
        `import os\nfor fd in range(3, 64):\n  try: os.write(fd, ${text})\n  except OSError: pass`;
      const told = await daemon.code(id, say(`b'{"images": 5, "result": {"a": []}, "error": {"name": 1}}\\n'`));
      assert.deepEqual([told.images, told.result, told.error?.name], [[], null, '']);
      // The cell's own answer might come to the next one.
      assert.equal((await daemon.call('POST', `/v1/sandboxes/${id}/kernel/reset`)).status, 204);
      const deep = await daemon.code(id, say(`b'['*60_000 + b'\\n'`));
      assert.equal(deep.error?.name, 'KernelDied');
      assert.equal((await daemon.code(id, '1 + 1')).result, '2');
    });

    inGuest('figures of a cell are files of the workspace', async () => {
      const drawn = await daemon.code(id, 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone');
      assert.equal(drawn.images.length, 1);
      // Cells are counted anew after a restart, and no figure takes the place of one from before.
      await daemon.call('POST', `/v1/sandboxes/${id}/kernel/reset`);
      const again = await daemon.code(id, 'import matplotlib.pyplot as plt\nplt.plot([2, 1])\nNone');
      await daemon.call('POST', `/v1/sandboxes/${id}/kernel/reset`);
      const third = await daemon.code(id, 'import matplotlib.pyplot as plt\nplt.plot([2, 1])\nNone');
      assert.equal(new Set([...drawn.images, ...again.images, ...third.images]).size, 3);
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

    test('a server inside that took `localhost` as ::1 is reached as well, as those of Node.js do', async () => {
      await daemon.exec(id, {
        shell: `setsid node -e 'require("node:net").createServer((s) => s.end("six")).listen(3212, "::1", () => console.log("up"))' \
          > six 2>&1 & until grep -q up six; do sleep 0.05; done`,
      });
      const stream = await daemon.port(id, 3212);
      assert.equal(await text(stream), 'six');
      assert.equal((await daemon.exec(id, { shell: 'echo $NO_PROXY' })).stdout, 'localhost,127.0.0.1,::1\n');
    });

    test('watchers inside hear of uploads: of a new file by its name, of one that was there as changed and closed', async () => {
      const put = (path: string, text: string) => daemon.call('PUT', `/v1/sandboxes/${id}/files?path=${path}`, text);
      const program = `require('fs').watch('watched', (kind, name) => { if (!name.startsWith('.')) console.log(kind, name); })
        console.log('up')`;
      await daemon.exec(id, {
        shell: `mkdir watched; setsid node -e '${program.replaceAll("'", '"')}' > heard 2>&1 & until grep -q up heard; do sleep 0.05; done`,
      });
      const heard = async (line: string): Promise<unknown> =>
        await daemon.exec(id, {
          shell: `until grep -q '${line}' heard; do sleep 0.05; done; : > heard`,
          timeout_ms: 20_000,
        });
      await put('watched/a', 'one');
      assert.match(JSON.stringify(await heard('rename a')), /"exit_code":0/);
      await put('watched/a', 'two');
      assert.match(JSON.stringify(await heard('change a')), /"exit_code":0/);
      const left = await daemon.exec(id, { shell: 'cat watched/a; ls -A watched; stat -c %U:%a watched/a' });
      assert.equal(left.stdout, '"two"a\nuser:644\n');
    });

    inGuest('a kernel that ended between two cells is told of by the next one', async () => {
      await daemon.code(id, 'kept = 1\nimport os\npid = os.getpid()');
      await daemon.exec(id, {
        shell: 'pkill -9 -f kernel[.]py; while pgrep -f kernel[.]py; do sleep 0.05; done; sleep 0.2',
      });
      const next = await daemon.code(id, 'kept');
      assert.deepEqual([next.error?.name, next.kernel_restarted, next.execution_count], ['NameError', true, 1]);
      assert.match(next.restart_reason ?? '', /^the Python process ended with signal 9/);
      const after = await daemon.code(id, 'kept');
      assert.deepEqual([after.kernel_restarted, after.restart_reason], [false, undefined]);
    });

    test('a cell, and a command, that take too much memory are told which limit that was', async () => {
      const code = 'x = []\nwhile True: x.append(bytearray(30_000_000))';
      const hog = await daemon.code(id, code);
      assert.deepEqual([hog.error?.name, hog.kernel_restarted], ['KernelDied', true]);
      assert.match(hog.error?.value ?? '', /1024 MiB/);
      const command = await daemon.exec(id, { language: 'python', code });
      assert.deepEqual(exitOf(command), { code: 137, late: false });
      if (backend === 'v2')
        assert.match(command.stderr, /svc: the memory limit of this sandbox, 1024 MiB, was reached/);
    });

    // v1 bounds each process, v2 all of a sandbox together.
    const shared = testWhere(backend === 'v2');
    shared('forked processes may share more memory than each could have for itself', async () => {
      const code = `import os, time
shared = bytearray(b'x') * (300 << 20)
children = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        time.sleep(1)
        os._exit(len(shared) >> 28)
    children.append(child)
[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]`;
      const forked = await daemon.code(id, code);
      assert.deepEqual([forked.result, forked.error, forked.kernel_restarted], ['[1, 1, 1, 1, 1]', null, false]);
    });

    /** The cell and the command that say so by a file. */
    const begun = async (): Promise<void> => {
      const found = () => globSync(`${daemon.workspaces}/*/files/begun`);
      await until(() => found().length === 1, 'the cell to begin');
      for (const path of found()) unlinkSync(path);
    };
    const begins = `open('/workspace/begun', 'w').close()\n`;

    test('a caller of a cell that goes away interrupts it, and the variables stay', async () => {
      await daemon.code(id, 'kept = 1\nimport time, os');
      const leave = async (code: string): Promise<void> => {
        const asked = request({
          socketPath: `${daemon.dir}/sandboxd.sock`,
          method: 'POST',
          path: `/v1/sandboxes/${id}/run_code`,
        });
        asked.on('error', () => {});
        asked.end(JSON.stringify({ code: `${begins}${code}`, timeout_ms: 600_000 }));
        await begun();
        asked.destroy();
        await until(async () => (await daemon.exec(id, { cmd: ['true'] })).status === 200, 'the sandbox to be free');
      };
      // In Python, in C, and in a child that no signal to Python reaches.
      for (const code of ['while True: pass', 'time.sleep(600)', 'os.system("sleep 4790; sleep 4790")']) {
        await leave(code);
        const next = await daemon.code(id, 'kept');
        assert.deepEqual([next.result, next.kernel_restarted], ['1', false], code);
      }
      await leave('import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass');
      const lost = await daemon.code(id, 'kept');
      assert.deepEqual([lost.error?.name, lost.kernel_restarted], ['NameError', true]);
      assert.match(lost.restart_reason ?? '', /caller went away/);
    });

    inGuest('a reset ends the cell that runs, whose caller is told', async () => {
      await daemon.code(id, 'kept = 1');
      const running = daemon.code(id, `${begins}while True: pass`, 600_000);
      await begun();
      assert.equal((await daemon.call('POST', `/v1/sandboxes/${id}/kernel/reset`)).status, 204);
      const ended = await running;
      assert.deepEqual([ended.error?.name, ended.kernel_restarted], ['KernelReset', true]);
      const next = await daemon.code(id, 'kept');
      assert.deepEqual([next.error?.name, next.kernel_restarted], ['NameError', false]);
    });

    inGuest('each output of a cell is cut at 1 MiB, and named', async () => {
      const cut = await daemon.code(id, 'print("a" * 3_000_000); import sys; print("b", file=sys.stderr)');
      assert.deepEqual([cut.stdout.length, cut.truncated, cut.stderr], [1_048_576, ['stdout'], 'b\n']);
      assert.deepEqual((await daemon.code(id, 'print("a")')).truncated, []);
    });

    inGuest('lines of a cell that begin with ! and %pip run in a shell', async () => {
      const cell = await daemon.code(
        id,
        `for i in range(2):\n    !echo "hi $((1+1))" | tr h H\ntext = '''\n!no\n'''\n!exit 3\n_exit_code, text`,
      );
      assert.deepEqual([cell.stdout, cell.result, cell.error], ['Hi 2\nHi 2\n', "(3, '\\n!no\\n')", null]);
      const pip = await daemon.code(id, '%pip --version');
      assert.match(pip.stdout, /^pip \d.* \(python 3/);
      assert.equal((await daemon.code(id, '1 +\n!!')).error?.name, 'SyntaxError');
    });

    /** Makes and installs a package, as a registry has them. */
    const install = (name: string) => ({
      shell: 'python3 - && pip install --no-deps ./*.whl 2>&1; rm *.whl',
      stdin: `import zipfile
with zipfile.ZipFile('${name}-1.2-py3-none-any.whl', 'w') as wheel:
  wheel.writestr('${name}.py', '')
  info = '${name}-1.2.dist-info/'
  wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: ${name}\\nVersion: 1.2\\n')
  wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
  wheel.writestr(info + 'RECORD', '${name}.py,,\\n' + ''.join(f'{info}{file},,\\n' for file in ('METADATA', 'WHEEL', 'RECORD')))`,
      timeout_ms: 120_000,
    });

    inGuest('a package that is installed for the user is there for commands and for the running kernel', async () => {
      await daemon.code(id, '1');
      assert.match((await daemon.exec(id, install('mine'))).stdout, /Successfully installed mine-1\.2/);
      assert.match((await daemon.exec(id, { shell: 'pip list' })).stdout, /^mine +1\.2$/m);
      const found = await daemon.code(id, 'import mine; mine.__file__');
      assert.match(found.result ?? found.error?.value ?? '', /^'\/home\/user\/\.local\//);
    });

    inGuest('pip installs into a plain venv', async () => {
      const { shell, ...rest } = install('yours');
      const inside = `python -m venv w && . w/bin/activate && ${shell}; cd / && python -c 'import yours; print(yours.__file__)'`;
      const done = await daemon.exec(id, { shell: inside, ...rest });
      assert.match(done.stdout, /\n\/workspace\/w\/lib\/python3[^\n]*\/yours\.py\n$/, done.stdout);
    });

    inGuest(
      'npm works in a workspace without package.json, and what the image has is found by require and import',
      async () => {
        const prefix = await daemon.exec(id, {
          shell: 'mkdir -p js/deep && cd js/deep && npm prefix && npm prefix -g',
        });
        assert.equal(prefix.stdout, '/workspace/js/deep\n/home/user/.local\n', prefix.stderr);
        const packed = `mkdir -p made && cd made && echo '{"name":"made","version":"1.0.0","main":"m.js"}' > package.json &&
        echo 'module.exports = 7' > m.js && npm pack --silent && mkdir -p ../user && cd ../user &&
        npm install --offline --silent ../made/made-1.0.0.tgz && node -p 'require("made")'`;
        const installed = await daemon.exec(id, { shell: packed });
        assert.equal(installed.stdout.split('\n').at(-2), '7', installed.stderr);
        const found = await daemon.exec(id, {
          shell: `mkdir -p js && cd js && cat > m.mjs && node m.mjs && node -p 'typeof require("npm/package.json")'`,
          stdin: `import { createRequire } from 'node:module';
import npm from 'npm/package.json' with { type: 'json' };
console.log(npm.name, typeof createRequire(import.meta.url)('npm/package.json').version);
await import('no-such-package').catch((error) => console.log(error.code, error.message.includes('m.mjs')));`,
        });
        assert.equal(found.stdout, 'npm string\nERR_MODULE_NOT_FOUND true\nobject\n', found.stderr);
      },
    );

    test('a sandbox sees its own memory and cores', async () => {
      const seen = await daemon.exec(id, { shell: `nproc; free -m | awk '/^Mem/ {print $2}'` });
      assert.equal(seen.stdout, '1\n1024\n');
    });

    inGuest('a PATH of its own reaches a command in each form', async () => {
      const env = { PATH: '/workspace/bin:/usr/bin:/bin' };
      const said = 'echo "$PATH"';
      for (const form of [{ shell: said }, { cmd: ['sh', '-c', said] }, { language: 'bash', code: said }]) {
        assert.equal((await daemon.exec(id, { ...form, env })).stdout, `${env.PATH}\n`);
      }
      const own = (await daemon.exec(id, { shell: 'echo "$PATH"; env' })).stdout;
      assert.match(own, /^\/home\/user\/\.local\/bin:/);
      assert.doesNotMatch(own, /_SVC_/);
    });

    inGuest('whether a command or a cell changed the workspace is told', async () => {
      const changed = async (shell: string) => {
        await delay(60);
        const { last } = await daemon.exec(id, { shell });
        return last?.type === 'exit' && last.changed;
      };
      await daemon.exec(id, { shell: 'mkdir -p c && echo 1 > c/file' });
      const told = [];
      for (const shell of ['cat c/file; ls', 'echo 2 > c/file', 'rm c/file', 'true']) told.push(await changed(shell));
      assert.deepEqual(told, [false, true, true, false]);
      await delay(60);
      assert.equal((await daemon.code(id, 'sum(range(9))')).changed, false);
      assert.equal((await daemon.code(id, 'open("/workspace/c/made", "w").close()')).changed, true);
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
