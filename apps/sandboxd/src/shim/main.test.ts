import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { until } from '../testing.ts';
import type { ShimSpec } from './spec.ts';

/** A shim whose sandbox is a Python program, started with a directory of its own; it writes frames as an agent does. */
async function shimOf(t: TestContext, agent: string) {
  const dir = await temporaryDirectory(t);
  const file = (name: string): string => join(dir, name);
  const spec: ShimSpec = {
    command: ['python3', '-c', agent, dir],
    socket: file('shim.sock'),
    ended: file('ended.json'),
    log: file('log'),
    expiresAt: Date.now() + 600_000,
    egress: { mode: 'none' },
    rules: { allowHosts: [], ports: [], presets: { pypi: [], npm: [] } },
  };
  const shim = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  shim.stdin.write(`${JSON.stringify(spec)}\n`);
  t.after(() => shim.kill('SIGTERM'));
  return { shim, file };
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
  const { shim, file } = await shimOf(t, agent);
  await once(shim, 'exit');
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
