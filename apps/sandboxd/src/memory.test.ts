import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { slotsFor, sparesFor, usableMemory, warmFor } from './memory.ts';

const gib = 2 ** 30;

/** A root folder with these files. */
function withFiles(files: Record<string, string>): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'svc-memory-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

describe('the memory of a node', () => {
  test('below 1.75 GiB nothing waits warm, and one sandbox runs; above as many as fit', () => {
    for (const waiting of [warmFor, sparesFor])
      assert.deepEqual([gib, 1.7 * gib, 1.9 * gib, 8 * gib].map(waiting), [0, 0, 2, 2]);
    const slots = (total: number, memory = gib) => slotsFor(memory, total);
    assert.deepEqual(
      [0.5, 1, 1.7, 1.9, 4, 8, 1_000].map((count) => slots(count * gib)),
      [1, 1, 1, 2, 2, 4, 64],
    );
    // A smaller limit of each makes room for more.
    assert.deepEqual([slots(1.7 * gib, gib / 4), slots(4 * gib, gib / 4)], [1, 4]);
  });

  test('is what the tightest control group above sandboxes allows, of both kinds, and otherwise the machine’s', () => {
    using unified = withFiles({
      'proc/self/cgroup': '0::/system.slice/svc.service\n',
      'sys/fs/cgroup/system.slice/svc.service/memory.max': 'max\n',
      'sys/fs/cgroup/system.slice/memory.max': `${gib}\n`,
      'sys/fs/cgroup/memory.max': `${4 * gib}\n`,
    });
    assert.equal(usableMemory(unified.path, 8 * gib, false), gib);
    // A limit of the agent's unit binds no sandbox of root's.
    assert.equal(usableMemory(unified.path, 8 * gib, true), 4 * gib);
    assert.equal(usableMemory(unified.path, gib / 2, false), gib / 2);
    using older = withFiles({
      'proc/self/cgroup': '12:pids:/x\n5:cpu,memory:/docker/a\n0::/\n',
      'sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes': `${2 * gib}\n`,
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    });
    assert.equal(usableMemory(older.path, 8 * gib, false), 2 * gib);
    assert.equal(usableMemory(older.path, 8 * gib, true), 8 * gib);
    using none = withFiles({});
    assert.equal(usableMemory(none.path, 8 * gib), 8 * gib);
  });
});
