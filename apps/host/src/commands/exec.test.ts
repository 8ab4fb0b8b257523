import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type HostCommand, isAlive, startCommand, startDaemon, temporaryDirectory, until } from '../testing.ts';
import { fakeGateway, refuse, testKey } from '../testing.gateway.ts';

/** A gateway with one host called `box`, and `svc host` commands of another machine. */
async function setUp(t: TestContext) {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway, ['--name', 'box']);
  const { deviceId } = await gateway.stream();
  const HOME = await temporaryDirectory(t);
  const start = (...words: string[]) =>
    startCommand(t, words, { HOME, SVC_API_KEY: testKey, SVC_BASE_URL: gateway.url });
  const ended = async (...words: string[]): Promise<HostCommand & { code: number | null }> => {
    const command = start(...words);
    return { ...command, code: await command.ended };
  };
  return { gateway, daemon, deviceId, start, ended };
}

test('exec passes on output and exit code of the command, found by name, hostname or id', async (t) => {
  const { daemon, deviceId, ended } = await setUp(t);
  const [{ hostname }] = (JSON.parse((await ended('list', '--json')).stdout()) as { hosts: [{ hostname: string }] })
    .hosts;
  for (const target of ['box', hostname, deviceId, deviceId.toUpperCase()]) {
    const command = await ended('exec', target, '--', 'echo out; echo err >&2; exit 42');
    assert.deepEqual([command.code, command.stdout(), command.stderr()], [42, 'out\n', 'err\n']);
  }
  assert.equal((await ended('exec', 'box', '--', 'kill -TERM $$')).code, 143);
  assert.equal((await ended('exec', 'box', '--cwd', '..', '--', 'true')).code, 125);
  assert.equal((await ended('exec', 'box', '--', 'pwd')).stdout(), `${daemon.root}\n`);
});

test('a command that only asks names its device and no platform, so that no prompt is sent to it', async (t) => {
  const { gateway, ended } = await setUp(t);
  const asked: (string | undefined)[][] = [];
  gateway.intercept = ({ url = '', headers }) => {
    const of = (name: string): string | undefined => headers[`x-svc-device${name}`] as string | undefined;
    if (url.endsWith('/exec')) asked.push([of('') && 'a device', of('-platform')]);
    return false;
  };
  assert.equal((await ended('exec', 'box', '--', 'true')).code, 0);
  assert.deepEqual(asked, [['a device', undefined]]);
});

test('several words reach the command as they are, one word is a line for the shell', async (t) => {
  const { ended } = await setUp(t);
  const words = ['printf', '%s|', "it's", '$HOME', 'a b', '', '*', '-n', 'ü;"\\'];
  assert.equal((await ended('exec', 'box', '--', ...words)).stdout(), `${words.slice(2).join('|')}|`);
  assert.equal((await ended('exec', 'box', '--', 'echo a | tr a b')).stdout(), 'b\n');
  // What follows the command's first word is its own, without `--` too.
  for (const own of [['box'], ['--timeout', '20', 'box'], ['box', '--timeout=20']]) {
    const given = ['--json', '--timeout', '5', 'a', '--', 'b'];
    assert.equal((await ended('exec', ...own, 'printf', '%s|', ...given)).stdout(), `${given.join('|')}|`);
  }
});

test('a mebibyte of output arrives whole', async (t) => {
  const { ended } = await setUp(t);
  const command = await ended('exec', 'box', '--', 'head -c 1048576 /dev/zero | tr "\\0" a');
  assert.deepEqual([command.code, command.stdout().length], [0, 1_048_576]);
});

test('a command that runs out of time exits 124 with what it wrote', async (t) => {
  const { ended } = await setUp(t);
  const command = await ended('exec', 'box', '--timeout', '1', '--', 'echo begun; sleep 60');
  assert.deepEqual([command.code, command.stdout()], [124, 'begun\n']);
  assert.match(command.stderr(), /timed out/);
});

test("a relay's timeout exits 124, every other failure of the relay 125 with one line", async (t) => {
  const { gateway, ended } = await setUp(t);
  const failing = async (status: number, code: string) => {
    gateway.intercept = (request, response) => {
      if (!request.url?.endsWith('/exec')) return false;
      refuse(response, status, code);
      return true;
    };
    const command = await ended('exec', 'box', '--', 'true');
    assert.match(command.stderr(), new RegExp(`^svc: box: ${status} ${code}: [^\n]*\n$`));
    return command.code;
  };
  assert.equal(await failing(504, 'host_timeout'), 124);
  assert.equal(await failing(502, 'host_disconnected'), 125);
  assert.equal(await failing(409, 'host_offline'), 125);
  assert.equal(await failing(401, 'invalid_api_key'), 125);
  await gateway.stop();
  const down = await ended('exec', 'box', '--', 'true');
  assert.equal(down.code, 125);
  assert.match(down.stderr(), /^svc: box: cannot reach [^\n]*\n$/);
});

test('what the host refuses, names nobody has and wrong usage exit 125', async (t) => {
  const { daemon, ended } = await setUp(t);
  await writeFile(join(daemon.stateDir, 'host.json'), JSON.stringify({ ops: { shell: 'refuse' } }));
  const refused = await ended('exec', 'box', '--', 'true');
  assert.deepEqual([refused.code, refused.stderr()], [125, 'svc: box: refused_by_policy\n']);
  const unknown = await ended('exec', 'nobody', '--', 'true');
  assert.equal(unknown.code, 125);
  assert.match(unknown.stderr(), /no present host is called "nobody"/);
  const absent = await ended('exec', crypto.randomUUID(), '--', 'true');
  assert.equal(absent.code, 125);
  for (const words of [['box'], ['box', '--nonsense', '--', 'true'], ['box', '--timeout', 'x', '--', 'true']]) {
    assert.equal((await ended('exec', ...words)).code, 125);
  }
});

test('a name that two hosts have is refused with both ids', async (t) => {
  const { gateway, deviceId, ended } = await setUp(t);
  await startDaemon(t, gateway, ['--name', 'box']);
  const other = (await gateway.stream()).deviceId;
  const command = await ended('exec', 'box', '--', 'true');
  assert.equal(command.code, 125);
  assert.ok(command.stderr().includes(deviceId) && command.stderr().includes(other));
});

test('Ctrl-C ends the command on the other host', async (t) => {
  const { daemon, start } = await setUp(t);
  const command = start('exec', 'box', '--', 'echo $$ > pid; sleep 60');
  let pid = 0;
  await until(async () => {
    pid = Number(await readFile(join(daemon.root, 'pid'), 'utf8').catch(() => '0'));
    return pid > 0;
  }, 'the command runs');
  command.process.kill('SIGINT');
  assert.equal(await command.ended, 130);
  await until(() => !isAlive(pid), 'the command on the host is dead');
});

test('--json prints the relay result and keeps the exit code', async (t) => {
  const { ended } = await setUp(t);
  const command = await ended('exec', 'box', '--json', '--', 'echo out; exit 3');
  assert.equal(command.code, 3);
  const { req_id, ...rest } = JSON.parse(command.stdout());
  assert.match(req_id, /^[0-9a-f-]{36}$/);
  const result = { exit_code: 3, stdout: 'out\n', stderr: '', timed_out: false, truncated: false };
  assert.deepEqual(rest, { ok: true, result });
});

test('list shows who is present as a table and as JSON', async (t) => {
  const { gateway, deviceId, daemon, ended } = await setUp(t);
  const table = (await ended('list')).stdout().trimEnd().split('\n');
  assert.equal(table.length, 2);
  assert.match(table[0] ?? '', /^NAME +DEVICE +PLATFORM\/OS +HOSTNAME +ROOTS +SINCE$/);
  assert.ok(table[1]?.startsWith('box ') && table[1].includes(deviceId) && table[1].includes(daemon.root));
  const { hosts } = JSON.parse((await ended('list', '--json')).stdout());
  assert.deepEqual([hosts.length, hosts[0].device_id], [1, deviceId]);
  await gateway.stop();
  const failed = await ended('list');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr(), /^svc: cannot reach [^\n]*\n$/);
});
