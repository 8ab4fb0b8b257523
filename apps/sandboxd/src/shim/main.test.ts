import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { run } from '../drivers/run.ts';
import { createShims } from '../sandboxes/shims.ts';
import { until } from '../testing.ts';
import { connectShim } from '../wire/client.ts';
import { openCage } from './cage.ts';
import { publishShim } from './publish.ts';
import type { ShimEnd, ShimSpec } from './spec.ts';

/** A shim whose sandbox is a Python program, started with a directory of its own; it writes frames as an agent does. */
async function shimOf(t: TestContext, agent: string) {
  const dir = await temporaryDirectory(t);
  const live = join(dir, 'live');
  await mkdir(live);
  const file = (name: string): string => join(live, name);
  const spec: ShimSpec = {
    socket: file('shim.sock'),
    ended: file('ended.json'),
    log: file('log'),
    expiresAt: Date.now() + 600_000,
    egress: { mode: 'none' },
    rules: { allowHosts: [], ports: [], presets: { pypi: [], npm: [] } },
  };
  const path = await publishShim(join(dir, 'shim'));
  const cage = await openCage(dir, { shim: path, live });
  const shims = createShims(0, { path, dir, cage });
  await shims.start(spec, ['setpriv', '--pdeathsig', 'KILL', '--', 'python3', '-c', agent, live]);
  const client = await connectShim(spec.socket);
  t.after(async () => {
    await client.tell({ stop: true }).catch(() => {});
    await client.closed;
  });
  const ended = async (): Promise<ShimEnd> => {
    await client.closed;
    return JSON.parse(readFileSync(spec.ended, 'utf8')) as ShimEnd;
  };
  return { client, file, ended, cage, dir };
}

test('an agent that does not hear its refusals is not heard either', async (t) => {
  // It opens connections as long as that is taken, and reads nothing.
  const agent = `
import os, select, struct, sys
os.set_blocking(1, False)
frames = b''.join(struct.pack('>IIB', 2, 2 * n, 1) + b'{}' for n in range(1, 5000))
taken = 0
while taken < 8_000_000 and select.select([], [1], [], 3)[1]:
    taken += os.write(1, frames[taken % len(frames):][:4096])
open(sys.argv[1] + '/taken', 'w').write(str(taken))`;
  const { file, ended } = await shimOf(t, agent);
  await ended();
  const taken = Number(readFileSync(file('taken'), 'utf8'));
  assert.ok(taken > 0 && taken < 2_000_000, `${taken} bytes`);
});

test('what an agent writes on its standard error does not fill the disk', async (t) => {
  const agent = `
import os, sys, time
for _ in range(64): os.write(2, bytes(65_536))
open(sys.argv[1] + '/written', 'w').close()
time.sleep(600)`;
  const { file } = await shimOf(t, agent);
  const sizeOf = (name: string): number => statSync(file(name), { throwIfNoEntry: false })?.size ?? -1;
  await until(() => sizeOf('written') === 0, 'the agent to write');
  await until(() => sizeOf('log') < 1_048_576, 'the log to be emptied');
});

/** The processes whose command line has all of these words, each with a line of its status. */
const statusOf = (...words: string[]): Record<string, string>[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (!/^\d+$/.test(name) || !words.every((word) => line.includes(word))) return [];
      const status = readFileSync(`/proc/${name}/status`, 'utf8').split('\n');
      return [{ ...Object.fromEntries(status.map((each) => each.split(/:\t */, 2))), pid: name, program: line[0] }];
    } catch {
      return [];
    }
  });

const idle = 'import time; time.sleep(600)';

test('a shim has no capability, gets none, starts nothing, and its sandbox keeps what it needs', async (t) => {
  const agent = `
import sys, time
open(sys.argv[1] + '/caps', 'w').write(open('/proc/self/status').read())
time.sleep(600)`;
  const { file, cage, dir } = await shimOf(t, agent);
  if (cage.missing !== undefined) return t.skip(cage.missing);
  const [shim] = statusOf(dir, '--no-warnings').filter(({ program }) => program === process.execPath);
  for (const set of ['CapEff', 'CapPrm', 'CapInh', 'CapAmb']) assert.equal(shim?.[set], '0000000000000000', set);
  assert.deepEqual([shim?.['NoNewPrivs'], shim?.['Seccomp']], ['1', '2']);
  await until(() => (statSync(file('caps'), { throwIfNoEntry: false })?.size ?? 0) > 0, 'the sandbox to look');
  const own = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  assert.equal(/^CapEff:\t(\w+)$/m.exec(readFileSync(file('caps'), 'utf8'))?.[1], own);
});

test('in the cage of a shim no process is made, no file of root is there, and none but its own is written', async (t) => {
  const { cage, dir } = await shimOf(t, idle);
  if (cage.missing !== undefined) return t.skip(cage.missing);
  const code = `
const { spawnSync } = require('node:child_process');
const { writeFileSync, readFileSync, readdirSync } = require('node:fs');
const attempt = (work) => { try { return work(); } catch (error) { return error.code; } };
console.log(JSON.stringify([
  spawnSync('/usr/bin/true').error?.code,
  attempt(() => readFileSync('/etc/shadow')),
  attempt(() => writeFileSync('/usr/lib/svc-test', '')),
  attempt(() => readdirSync('/proc')),
  attempt(() => writeFileSync(process.argv[1] + '/mine', '')),
]));`;
  const { output } = await run(
    ['/bin/sh', '-c', '"$@" 3<"$0"', cage.filter, ...cage.words, process.execPath, '-e', code, join(dir, 'live')],
    60_000,
  );
  assert.deepEqual(JSON.parse(output), ['EPERM', 'ENOENT', 'EROFS', 'ENOENT', null]);
});

test('the exit code of a sandbox is told, and how it was ended', async (t) => {
  const agent = `
import os, sys, time
while not os.path.exists(sys.argv[1] + '/heard'): time.sleep(0.01)
sys.exit(7)`;
  const { file, ended } = await shimOf(t, agent);
  // Not before the test listens: the shim is gone with its sandbox.
  writeFileSync(file('heard'), '');
  assert.deepEqual(await ended(), { reason: 'exited', code: 7, signal: null });
  const other = await shimOf(t, idle);
  await other.client.tell({ stop: true });
  assert.deepEqual(await other.ended(), { reason: 'stopped', code: null, signal: 'SIGKILL' });
});

for (const [what, find] of Object.entries({
  'a shim': ({ program }: Record<string, string>) => program === process.execPath,
  'what started it': ({ program }: Record<string, string>) => program === '/bin/sh',
})) {
  test(`${what} that is killed takes the sandbox along, and nothing of it stays`, async (t) => {
    const { dir, client } = await shimOf(t, idle);
    const all = () => statusOf(dir).concat(statusOf(join(dir, 'live')));
    const [victim] = all().filter(find);
    process.kill(Number(victim?.['pid']), 'SIGKILL');
    await client.closed;
    await until(() => all().length === 0, 'all of it to end');
  });
}
