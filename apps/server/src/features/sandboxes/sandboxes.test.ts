import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { execFrame, sandbox as sandboxShape } from '@svc/contract';
import { isSvcError } from '@svc/sdk';
import { clientOf, until } from '../../testing.ts';
import { type Json, openSandboxes, type SandboxesTest } from './sandboxes.testing.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The frames of an exec, in order. */
async function framesOf(t: SandboxesTest, id: string, body: Json, headers: Record<string, string> = {}) {
  const answer = await t.call('POST', `/v1/sandboxes/${id}/exec`, body, { accept: 'text/event-stream', ...headers });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  const lines = String(answer.body)
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '));
  return lines.map((line) => execFrame.parse(JSON.parse(line.slice(6))));
}

describe('sandboxes', () => {
  let t: SandboxesTest;
  before(async () => {
    t = await openSandboxes();
  });
  after(() => t.close());

  describe('v2', () => {
    let box: Json;
    before(async () => {
      t = await t.fresh();
      box = await t.create({ metadata: { purpose: 'test', ă: 'î' } });
    });
    after(() => t.clear());

    test('a sandbox is created, listed, read and destroyed, with every field of the document', async () => {
      sandboxShape.strict().parse(box);
      const { id, created_at, expires_at } = box;
      assert.deepEqual(box, {
        id,
        object: 'sandbox',
        status: 'running',
        backend: 'v2',
        restored: box.restored,
        template: 'svc-base',
        egress: { mode: 'none' },
        created_at,
        expires_at,
        last_exec_at: null,
        metadata: { purpose: 'test', ă: 'î' },
        usage: { exec_count: 0, exec_seconds: 0 },
        cost_micro_eur: 0,
      });
      assert.equal(Date.parse(expires_at) - Date.parse(created_at), 3_600_000);
      assert.deepEqual((await t.call('GET', `/v1/sandboxes/${id}`)).body, box);
      assert.deepEqual((await t.call('GET', '/v1/sandboxes')).body, { object: 'list', data: [box] });
      const other = await t.create();
      const gone = await t.call('DELETE', `/v1/sandboxes/${other.id}`);
      assert.deepEqual([gone.status, gone.body.status], [200, 'destroyed']);
      assert.deepEqual((await t.call('DELETE', `/v1/sandboxes/${other.id}`)).body, gone.body);
      const listed = async (status: string) =>
        (await t.call('GET', `/v1/sandboxes?status=${status}`)).body.data.map((each: Json) => each.id);
      assert.deepEqual(await listed('destroyed'), [other.id]);
      assert.deepEqual(await listed('running'), [id]);
      const refused = await t.call('POST', `/v1/sandboxes/${other.id}/exec`, { shell: 'id' });
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'sandbox_not_running']);
    });

    test('every answer carries cost and region', async () => {
      for (const path of [`/v1/sandboxes/${box.id}`, `/v1/sandboxes/${randomUUID()}`, '/v1/sandboxes']) {
        const { headers } = await t.call('GET', path);
        assert.equal(headers.get('x-svc-cost-micro-usd'), '0');
        assert.equal(headers.get('x-svc-data-region'), 'eu-local');
      }
    });

    test('a command runs in each of its forms, with its environment, directory and input', async () => {
      const out = async (command: Json) => (await t.exec(box, command)).stdout;
      assert.equal(await out({ cmd: ['printf', '%s|', 'a b', '$HOME', '*'] }), 'a b|$HOME|*|');
      assert.equal(await out('shopt -q login_shell && echo "login $((1+2))"'), 'login 3\n');
      assert.equal(await out({ language: 'python', code: 'print(sum(range(5)))' }), '10\n');
      assert.equal(await out({ language: 'bash', code: 'echo "$BASH_VERSION" | cut -c1' }), '5\n');
      assert.equal(await out({ shell: 'printf %s "$A"', env: { A: 'ăâîșț "$B"' } }), 'ăâîșț "$B"');
      await t.exec(box, 'mkdir -p deep/er');
      assert.equal(await out({ cmd: ['pwd'], cwd: 'deep/er' }), '/workspace/deep/er\n');
      assert.equal(await out({ cmd: ['pwd'], cwd: '/workspace/deep' }), '/workspace/deep\n');
      assert.equal(await out({ cmd: ['pwd'] }), '/workspace\n');
      assert.equal(await out({ cmd: ['cat'], stdin: 'line\nșase' }), 'line\nșase');
      const large = 'x'.repeat(1_048_576);
      assert.equal(await out({ cmd: ['sha256sum'], stdin: large }), `${sha256(large)}  -\n`);
      // Every character that something may take for the end of a line.
      assert.equal(await out({ cmd: ['printf', 'a\u2028b\u2029c\u0085d\re'] }), 'a\u2028b\u2029c\u0085d\re');
      assert.match(await out('node --version'), /^v24\./);
      assert.match(await out('npm --version'), /^\d+\./);
    });

    test('exit codes are the real ones; null only on timeout and when nothing started', async () => {
      const end = async (command: Json) => {
        const { exit_code, timed_out, stderr } = await t.exec(box, command);
        return { exit_code, timed_out, stderr };
      };
      const clean = { timed_out: false, stderr: '' };
      assert.deepEqual(await end('exit 7'), { exit_code: 7, ...clean });
      assert.equal((await end('kill -TERM $$')).exit_code, 143);
      assert.equal((await end({ language: 'python', code: 'import os; os.kill(os.getpid(), 9)' })).exit_code, 137);
      assert.equal((await end('no-such-command')).exit_code, 127);
      const missing = await end({ cmd: ['no-such-command'] });
      assert.equal(missing.exit_code, null);
      assert.match(missing.stderr, /no-such-command/);
      assert.deepEqual(await end({ shell: 'sleep 30', timeout_seconds: 1 }), {
        exit_code: null,
        timed_out: true,
        stderr: '',
      });
    });

    test('what a timeout ends is gone, its children too', async () => {
      await t.exec(box, { shell: 'setsid sleep 7654 & sleep 7655', timeout_seconds: 1 });
      assert.equal((await t.exec(box, 'pgrep -f "sleep 765[5]"')).stdout, '');
    });

    test('a child in the background outlives its command and does not hold it open', async () => {
      const { stdout, timed_out } = await t.exec(box, 'sleep 4321 & echo started');
      assert.deepEqual([stdout, timed_out], ['started\n', false]);
      assert.equal((await t.exec(box, 'pgrep -cf "sleep 432[1]"; pkill -f "sleep 432[1]"')).stdout, '1\n');
    });

    test('one command at a time: the second is told so', async () => {
      const first = t.exec(box, 'echo begun > flag; until [ -e go ]; do sleep 0.05; done; rm go flag');
      await until(async () => (await t.call('GET', `/v1/sandboxes/${box.id}/files/flag`)).status === 200);
      for (const [path, body] of [
        ['exec', { shell: 'id' }],
        ['run_code', { code: '1' }],
        ['pause', {}],
        ['fork', { count: 1 }],
      ] as const) {
        const { status, body: told } = await t.call('POST', `/v1/sandboxes/${box.id}/${path}`, body);
        assert.deepEqual([path, status, told.error.code], [path, 409, 'sandbox_busy']);
      }
      await t.call('PUT', `/v1/sandboxes/${box.id}/files/go`);
      assert.equal((await first).exit_code, 0);
    });

    test('the SDK answers an exec whole, or in frames as they come', async () => {
      const client = clientOf(t.gateway, t.account.key);
      const call = { params: { id: box.id }, body: { shell: 'echo one; echo two >&2; exit 3' } };
      const whole = await client.sandboxes.exec(call);
      assert.deepEqual([whole.exit_code, whole.stdout, whole.stderr], [3, 'one\n', 'two\n']);
      const frames = await Array.fromAsync(client.sandboxes.exec.frames(call));
      assert.equal(frames[0]?.type, 'start');
      const last = frames.at(-1);
      assert.ok(last?.type === 'exit' && last.exit_code === 3 && last.receipt.template === 'svc-base');
      const missing = client.sandboxes.exec.frames({ ...call, params: { id: randomUUID() } });
      await assert.rejects(missing.next(), (error: unknown) => isSvcError(error, 'not_found'));
    });

    test('output comes in frames: start, chunks, one exit with the receipt', async () => {
      const frames = await framesOf(t, box.id, { shell: 'echo one; echo two >&2; exit 3' });
      assert.deepEqual(frames[0], { type: 'start' });
      const text = (type: string) => frames.map((f) => (f.type === type && 'data' in f ? f.data : '')).join('');
      assert.deepEqual([text('stdout'), text('stderr')], ['one\n', 'two\n']);
      const last = frames.at(-1);
      assert.ok(last?.type === 'exit');
      assert.deepEqual([last.exit_code, last.timed_out], [3, false]);
      assert.match(last.receipt.image_digest, /^sha256:[0-9a-f]{64}$/);
      assert.equal(frames.filter(({ type }) => type === 'exit' || type === 'error').length, 1);
    });

    test('the first output is seen while the command runs', async () => {
      const abort = new AbortController();
      const response = await fetch(`${t.gateway.url}/v1/sandboxes/${box.id}/exec`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${t.account.key}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
        body: JSON.stringify({ shell: 'echo early; sleep 600', timeout_seconds: 600 }),
        signal: abort.signal,
      });
      let seen = '';
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        seen += Buffer.from(chunk).toString();
        if (seen.includes('early')) break;
      }
      abort.abort();
      // A client that goes away leaves no process and no lock behind.
      await until(async () => {
        const { status, body } = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, {
          shell: 'pgrep -f "sleep 60[0]"',
        });
        return status === 200 && body.stdout === '';
      });
    });

    test('each stream is cut at 1 MiB, which a frame says once; the command goes on', async () => {
      const frames = await framesOf(t, box.id, { shell: 'head -c 3000000 /dev/zero | tr "\\0" a; echo end >&2' });
      const bytes = frames.reduce((sum, f) => sum + (f.type === 'stdout' ? Buffer.byteLength(f.data) : 0), 0);
      assert.equal(bytes, 1_048_576);
      assert.deepEqual(
        frames.filter(({ type }) => type === 'truncated'),
        [{ type: 'truncated', stream: 'stdout' }],
      );
      assert.ok(frames.some((f) => f.type === 'stderr' && f.data === 'end\n'));
    });

    test('in JSON too it is told which stream was cut, and again by a repeat in frames', async () => {
      const key = { 'idempotency-key': randomUUID() };
      const body = { shell: 'head -c 3000000 /dev/zero | tr "\\0" a >&2; echo end' };
      const first = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, body, key);
      assert.deepEqual([first.body.truncated, first.body.stderr.length], [['stderr'], 1_048_576]);
      const short = { shell: 'head -c 1048577 /dev/zero' };
      assert.deepEqual((await t.exec(box, short)).truncated, ['stdout']);
      assert.deepEqual((await t.exec(box, 'echo end')).truncated, []);
      const cell = await t.cell(box, 'print("a" * 3_000_000)');
      assert.deepEqual([cell.truncated, cell.stdout.length], [['stdout'], 1_048_576]);
      const once = await t.call('POST', '/v1/sandboxes/run', short);
      assert.deepEqual(once.body.truncated, ['stdout'], JSON.stringify(once.body).slice(0, 500));
    });

    test('the receipt says what ran on what, and what it wrote', async () => {
      const before = (await t.exec(box, 'rm -rf out/*; true')).receipt;
      const command = { shell: 'printf hello > out/a.txt; mkdir out/d; printf x > out/d/b', env: { B: '2', A: '1' } };
      const { receipt } = await t.exec(box, { ...command, stdin: 'in' });
      const canonical = JSON.stringify({ env: { A: '1', B: '2' }, shell: command.shell, timeout_seconds: 120 });
      assert.deepEqual(receipt, {
        image_digest: before.image_digest,
        template: 'svc-base',
        input_sha256: sha256('in'),
        command_sha256: sha256(canonical),
        outputs: [
          { path: 'out/a.txt', sha256: sha256('hello'), bytes: 5 },
          { path: 'out/d/b', sha256: sha256('x'), bytes: 1 },
        ],
        generation_before: before.generation_after,
        generation_after: before.generation_after + 1,
      });
      // A file's time ticks every few milliseconds: one that was written in the tick before counts too.
      await t.exec(box, 'sleep 0.1');
      assert.deepEqual((await t.exec(box, 'true')).receipt.outputs, []);
    });

    test('a generation counts what changed in the workspace, not commands', async () => {
      const generation = async (command: string) => {
        await t.exec(box, 'sleep 0.1');
        const { generation_before: before, generation_after: after } = (await t.exec(box, command)).receipt;
        return after - before;
      };
      assert.equal(await generation('ls; cat out/a.txt; echo x > /tmp/elsewhere'), 0);
      assert.equal(await generation('echo more >> out/a.txt'), 1);
      assert.equal(await generation('mkdir -p empty'), 1);
      assert.equal(await generation('rmdir empty'), 1);
      const put = () => t.call('PUT', `/v1/sandboxes/${box.id}/files/put.txt`);
      const { generation: first } = (await put()).body;
      assert.equal((await put()).body.generation, first + 1);
      // Neither does a cell that only computes.
      await t.exec(box, 'sleep 0.1');
      await t.cell(box, '1 + 1');
      assert.equal((await t.exec(box, 'true')).receipt.generation_before, first + 1);
    });

    test('a repeat with its Idempotency-Key runs nothing and answers the same, in the form it asks for', async () => {
      const key = { 'idempotency-key': randomUUID() };
      const body = { shell: 'echo run >> count; wc -l < count; echo bad >&2; exit 4' };
      const first = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, body, key);
      const second = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, body, key);
      assert.deepEqual(second.body, first.body);
      assert.equal(second.headers.get('idempotency-replayed'), 'true');
      const frames = await framesOf(t, box.id, body, key);
      assert.deepEqual(
        frames.map(({ type }) => type),
        ['start', 'stdout', 'stderr', 'exit'],
      );
      assert.equal((await t.exec(box, 'wc -l < count')).stdout, '1\n');
      const other = await t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' }, key);
      assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_mismatch']);
    });

    test('use is counted: commands, their time, and the last of them', async () => {
      const before = (await t.call('GET', `/v1/sandboxes/${box.id}`)).body;
      await t.exec(box, 'sleep 0.3');
      const { usage, last_exec_at } = (await t.call('GET', `/v1/sandboxes/${box.id}`)).body;
      assert.equal(usage.exec_count, before.usage.exec_count + 1);
      assert.ok(usage.exec_seconds - before.usage.exec_seconds >= 0.3);
      assert.ok(Date.parse(last_exec_at) >= Date.parse(before.last_exec_at));
    });
  });

  describe('the kernel', () => {
    let box: Json;
    before(async () => {
      t = await t.fresh();
      box = await t.create();
    });
    after(() => t.clear());

    test('globals live from cell to cell, and the last expression is the result', async () => {
      const first = await t.cell(box, 'x = 41\nprint("out")\nimport sys; print("err", file=sys.stderr)\nx + 1');
      const { duration_ms: _, ...shown } = first;
      assert.deepEqual(shown, {
        stdout: 'out\n',
        stderr: 'err\n',
        truncated: [],
        result: '42',
        error: null,
        execution_count: first.execution_count,
        kernel_restarted: false,
        images: [],
      });
      const next = await t.cell(box, 'x += 1; x');
      assert.deepEqual([next.result, next.execution_count], ['42', first.execution_count + 1]);
      assert.equal((await t.cell(box, 'y = 1')).result, null);
    });

    test('an exception is an answer with name, value and traceback', async () => {
      const { error, result } = await t.cell(box, 'def f():\n  return 1 / 0\nf()');
      assert.equal(result, null);
      assert.deepEqual([error.name, error.value], ['ZeroDivisionError', 'division by zero']);
      assert.match(error.traceback, /in f/);
      assert.equal((await t.cell(box, '1 +')).error.name, 'SyntaxError');
    });

    test('a result is cut at 64 KiB', async () => {
      assert.equal((await t.cell(box, '"a" * 200_000')).result.length, 65_536);
    });

    test('a cell past its time, and one that ends the process, restart the kernel', async () => {
      await t.cell(box, 'z = 1');
      const late = await t.cell(box, 'while True: pass', { timeout_seconds: 1 });
      assert.equal(late.kernel_restarted, true);
      assert.equal((await t.cell(box, 'z')).error.name, 'NameError');
      assert.equal((await t.cell(box, 'import os; os._exit(3)')).kernel_restarted, true);
      const { kernel_restarted, result } = await t.cell(box, '1 + 1');
      assert.deepEqual([kernel_restarted, result], [false, '2']);
    });

    test('a reset forgets variables and keeps files', async () => {
      await t.cell(box, 'kept = 1; open("kept.txt", "w").write("here")');
      const reset = await t.call('POST', `/v1/sandboxes/${box.id}/kernel/reset`);
      assert.deepEqual([reset.status, reset.body], [200, { id: box.id, reset: true }]);
      assert.equal((await t.cell(box, 'kept')).error.name, 'NameError');
      assert.equal((await t.cell(box, 'open("kept.txt").read()')).result, "'here'");
    });

    test('a reset stops the cell that runs', async () => {
      const running = t.cell(box, 'open("begun", "w").close()\nwhile True: pass', { timeout_seconds: 600 });
      await until(async () => (await t.call('GET', `/v1/sandboxes/${box.id}/files/begun`)).status === 200);
      assert.equal((await t.call('POST', `/v1/sandboxes/${box.id}/kernel/reset`)).status, 200);
      const { error, kernel_restarted, restart_reason } = await running;
      assert.deepEqual([error.name, kernel_restarted, restart_reason], ['KernelReset', true, 'the kernel was reset']);
      assert.equal((await t.cell(box, '1 + 1')).kernel_restarted, false);
    });

    test('what the kernel lost between two cells the next one tells', async () => {
      await t.cell(box, 'x = 1');
      await t.exec(box, 'pkill -9 -f kernel[.]py; while pgrep -f kernel[.]py; do sleep 0.05; done; sleep 0.2');
      const { error, kernel_restarted, restart_reason } = await t.cell(box, 'x');
      assert.deepEqual([error.name, kernel_restarted], ['NameError', true]);
      assert.match(restart_reason, /signal 9/);
    });

    test('a figure is saved under out, and its file is a picture', async () => {
      const code = 'import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.title("ăîșț")';
      const { images, error } = await t.cell(box, code);
      assert.equal(error, null);
      assert.equal(images.length, 1);
      const { data } = (await t.call('GET', `/v1/sandboxes/${box.id}/artifacts`)).body;
      assert.deepEqual(
        data.map(({ path, mime, scan }: Json) => [path, mime, scan]),
        [[images[0], 'image/png', 'clean']],
      );
    });
  });

  describe('pause, resume and fork', () => {
    before(async () => {
      t = await t.fresh();
    });
    beforeEach(() => t.clear());
    after(() => t.clear());

    test('a paused sandbox comes back with memory, processes and files, and its lifetime stood still', async () => {
      const box = await t.create({ ttl_seconds: 600 });
      await t.cell(box, 'secret = list(range(1000)); import os; pid = os.getpid()');
      await t.exec(
        box,
        'echo kept > file; nohup sh -c "while :; do date +%s%N > beat; sleep 0.05; done" >/dev/null 2>&1 &',
      );
      const paused = await t.call('POST', `/v1/sandboxes/${box.id}/pause`);
      assert.deepEqual([paused.status, paused.body.status], [200, 'paused'], JSON.stringify(paused.body));
      assert.equal((await t.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' })).status, 409);
      const again = await t.call('POST', `/v1/sandboxes/${box.id}/pause`);
      assert.deepEqual([again.status, again.body.error.code], [409, 'sandbox_not_running']);
      const resumed = await t.call('POST', `/v1/sandboxes/${box.id}/resume`);
      assert.equal(resumed.status, 200, JSON.stringify(resumed.body));
      const { status, restored, ready_ms, expires_at } = resumed.body;
      assert.deepEqual([status, restored], ['running', true]);
      assert.ok(ready_ms > 0);
      assert.ok(Date.parse(expires_at) > Date.parse(box.expires_at));
      assert.equal((await t.cell(box, 'sum(secret), os.getpid() == pid')).result, '(499500, True)');
      assert.equal(
        (await t.exec(box, 'cat file; a=$(cat beat); until [ "$a" != "$(cat beat)" ]; do sleep 0.05; done')).stdout,
        'kept\n',
      );
    });

    test('a pause that cannot save memory says why and changes nothing, unless it may keep the files alone', async () => {
      const box = await t.create();
      await t.cell(box, 'import os\nx = 1\ng = open("gone", "w"); os.unlink("gone")\nopen("kept", "w").write("k")');
      const pause = (body?: Json) => t.call('POST', `/v1/sandboxes/${box.id}/pause`, body);
      const refused = await pause();
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'memory_not_saved']);
      assert.match(refused.body.error.message, /\/workspace\/gone .*files_only/);
      assert.equal((await t.call('GET', `/v1/sandboxes/${box.id}`)).body.status, 'running');
      assert.equal((await t.cell(box, 'x')).result, '1');
      const paused = await pause({ files_only: true });
      assert.deepEqual([paused.status, paused.body.status], [200, 'paused'], JSON.stringify(paused.body));
      const resumed = await t.call('POST', `/v1/sandboxes/${box.id}/resume`);
      assert.deepEqual([resumed.status, resumed.body.restored], [200, false]);
      assert.equal((await t.exec(box, 'cat kept')).stdout, 'k');
      const cell = await t.cell(box, 'x');
      assert.deepEqual([cell.error.name, cell.kernel_restarted], ['NameError', true]);
    });

    test('a paused sandbox says when it would end if it were resumed now', async () => {
      const box = await t.create({ ttl_seconds: 600 });
      await t.call('POST', `/v1/sandboxes/${box.id}/pause`);
      const { sql } = t.gateway.kernel;
      await sql`update sandboxes.sandboxes set expires_at = now() - interval '1 hour' where id = ${box.id}`;
      const { body } = await t.call('GET', `/v1/sandboxes/${box.id}`);
      const left = Date.parse(body.expires_at) - Date.now();
      assert.ok(left > 0 && left <= 600_000, body.expires_at);
      const [listed] = (await t.call('GET', '/v1/sandboxes?status=paused')).body.data;
      assert.ok(Date.parse(listed.expires_at) > Date.now());
    });

    test('children have the parent’s variables, files and egress, and lives of their own', async () => {
      const parent = await t.create({ egress: { mode: 'preset', preset: 'npm' }, metadata: { a: 'b' } });
      await t.cell(parent, 'v = "from the parent"; import random, os');
      await t.exec(parent, 'echo shared > file');
      const { status, body } = await t.call('POST', `/v1/sandboxes/${parent.id}/fork`, { count: 3, ttl_seconds: 120 });
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual([body.object, body.parent_id, body.data.length], ['list', parent.id, 3]);
      const drawn = new Set<string>();
      for (const child of body.data) {
        assert.equal(child.restored, true, JSON.stringify(child));
        const shown = (await t.call('GET', `/v1/sandboxes/${child.id}`)).body;
        assert.deepEqual([shown.egress, shown.metadata], [parent.egress, parent.metadata]);
        assert.equal(Date.parse(shown.expires_at) - Date.parse(shown.created_at), 120_000);
        assert.equal((await t.cell(child, 'v')).result, "'from the parent'");
        drawn.add((await t.cell(child, 'random.random()')).result);
        assert.equal((await t.exec(child, 'cat file; echo mine > file')).stdout, 'shared\n');
      }
      assert.equal(drawn.size, 3);
      assert.equal((await t.exec(parent, 'cat file')).stdout, 'shared\n');
      assert.equal((await t.cell(parent, 'v')).result, "'from the parent'");
    });
  });
});
