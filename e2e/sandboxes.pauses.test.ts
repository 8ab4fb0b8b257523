import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { killAll } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes as skip } from './sandboxes.ts';

/** Times that it sleeps and wakes; `SVC_TEST_CYCLES=50` for more. */
const cycles = Number(process.env['SVC_TEST_CYCLES'] ?? 3);

/** Memory whose hash is known, and a file that stays open and grows. */
const prepare = `
import hashlib, os
memory = os.urandom(64 << 20)
known = hashlib.sha256(memory).hexdigest()
log = open('/workspace/open.log', 'w')
pid = os.getpid()
turn = 0`;
const check = `
turn += 1
log.write('turn %d\\n' % turn); log.flush()
lines = open('/workspace/open.log').read().split()
[hashlib.sha256(memory).hexdigest() == known, os.getpid() == pid, lines == sum((['turn', str(n + 1)] for n in range(turn)), []), turn]`;
const hashOfWorkspace = 'find data -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum';

describe('a sandbox that sleeps again and again', { skip }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform();
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  test(`${cycles} times: memory, processes, open files and the workspace are as they were, each time`, {
    timeout: 600_000 + 30_000 * cycles,
  }, async () => {
    const box: Json = await p.create({ ttl_seconds: 7200 });
    assert.equal((await p.cell(box, prepare)).error, null);
    await p.exec(
      box,
      `mkdir -p data/deep; head -c 8M /dev/urandom > data/a; for i in $(seq 200); do echo $i > data/deep/$i; done
      nohup sh -c 'n=0; while :; do n=$((n+1)); echo $n > beat; sleep 0.05; done' > /dev/null 2>&1 & echo $! > pid`,
    );
    const { stdout: hash } = await p.exec(box, hashOfWorkspace);
    let last = 0;
    for (let cycle = 1; cycle <= cycles; cycle++) {
      assert.equal((await p.ok('POST', `/v1/sandboxes/${box.id}/pause`)).status, 'paused');
      const { restored, status } = await p.ok('POST', `/v1/sandboxes/${box.id}/resume`);
      assert.deepEqual([cycle, status, restored], [cycle, 'running', true]);
      assert.equal((await p.cell(box, check)).result, `[True, True, True, ${cycle}]`);
      const { stdout } = await p.exec(
        box,
        // It is the same process, and it goes on from where it was: a count that is read empty is being written.
        `kill -0 $(cat pid) && a=; until [ -n "$a" ]; do a=$(cat beat); done; b=$a
        until [ -n "$b" ] && [ "$b" != "$a" ]; do sleep 0.05; b=$(cat beat); done; echo $b; ${hashOfWorkspace}`,
      );
      const [beat = '', ...rest] = stdout.split('\n');
      assert.ok(Number(beat) > last, `${beat} after ${last}`);
      last = Number(beat);
      assert.equal(rest.join('\n'), hash);
    }
  });
});
