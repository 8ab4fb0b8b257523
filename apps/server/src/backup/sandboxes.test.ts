import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { leftOut } from './format.ts';
import { addSandboxes } from './sandboxes.ts';
import { BackupWriter } from './writer.ts';

/**
 * What a backup takes of a node agent that answers `answers` by path, 404 with a code to everything else, and nothing to the
 * first questions.
 */
async function takenOf(
  answers: Record<string, unknown> | undefined,
  { code = 'not_found', message = 'no such route', isExpected = true, ignored = 0 } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-backup-'));
  const socket = join(folder, 'node.sock');
  let asked = 0;
  const agent = createServer(({ url = '' }, response) => {
    if (++asked <= ignored) return;
    const answer = answers?.[url];
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(JSON.stringify(answer ?? { error: { code, message } }));
  });
  try {
    if (answers) await once(agent.listen(socket), 'listening');
    const writer = new BackupWriter(new PassThrough().resume(), 0);
    return await addSandboxes(writer, { socket, owner: 'us', isExpected });
  } finally {
    agent.close();
    agent.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

const aa = '11111111-1111-4111-8111-111111111111';
const bb = '22222222-2222-4222-8222-222222222222';
const node = { '/v1/node': { id: '33333333-3333-4333-8333-333333333333' } };
const box = { id: aa, owner: 'us', backend: 'v2', status: 'paused', image_digest: 'sha256:aa' };
const nodeOf = (...sandboxes: unknown[]) => ({ ...node, '/v1/sandboxes': { sandboxes } });

describe('sandboxes that are not in a backup', () => {
  test('are named with what to do, where the node agent is older than this command', async () => {
    const { kept, left } = await takenOf(nodeOf(box));
    assert.deepEqual(kept, []);
    const rest = { finished_at: '', rows: {}, entries: [] };
    const { left_out } = leftOut({ ...rest, sandboxes: { kept, left } });
    const wanted = `sandbox ${aa}: its node agent is of an older version: restart the platform`;
    assert.ok(String(left_out).startsWith(wanted), String(left_out));
    assert.deepEqual(leftOut({ ...rest, sandboxes: { kept, left: [] } }), {});
  });

  test('are named with the reason of the node agent, where it has no such image or gives none', async () => {
    const copied = { ...nodeOf(box), [`/v1/sandboxes/${aa}/copy`]: 'a tar' };
    assert.deepEqual((await takenOf(copied, { message: 'no such image' })).left, [{ id: aa, why: 'no such image' }]);
    const [{ why } = { why: '' }] = (await takenOf(copied, { message: 'x'.repeat(3_000) })).left;
    assert.equal(why.length, 500);
  });

  test('are not missed, where they ended meanwhile', async () => {
    assert.deepEqual((await takenOf(nodeOf(box), { code: 'no_sandbox' })).left, []);
  });

  test('are those alone that the node agent tells of in another way', async () => {
    const rows = [
      { ...box, id: '../../x' },
      { ...box, image_digest: '../x' },
      { ...box, id: 7 },
      { ...box, memory: 1 },
    ];
    const pieces = { [`/v1/sandboxes/${bb}/copy`]: 'a tar', '/v1/images/sha256:aa/copy': 'an image' };
    const { kept, left } = await takenOf({ ...nodeOf(...rows, { ...box, id: bb }), ...pieces });
    assert.deepEqual(
      kept.map(({ id }) => id),
      [bb],
    );
    assert.deepEqual(
      left.map(({ id }) => id),
      ['../../x', aa, 'without an id', aa],
    );
  });

  test('are asked for again, where the node agent was late', async () => {
    const { left } = await takenOf(nodeOf(box), { ignored: 2 });
    assert.deepEqual(
      left.map(({ id }) => id),
      [aa],
    );
  });

  test('are all of them, where no node agent tells of any, and none where none was ever made', async () => {
    const all = [{ id: 'all', why: 'no node agent answers: sandboxes are copied while the platform runs' }];
    const list = { '/v1/sandboxes': { sandboxes: [box] } };
    for (const answers of [
      undefined,
      node,
      { ...list, '/v1/node': null },
      { ...list, '/v1/node': {} },
      { ...list, '/v1/node': { id: '../../x' } },
      { ...node, '/v1/sandboxes': null },
      { ...node, '/v1/sandboxes': { sandboxes: 'none' } },
      nodeOf({}),
    ])
      assert.deepEqual((await takenOf(answers)).left, all, JSON.stringify(answers));
    assert.deepEqual((await takenOf(undefined, { isExpected: false })).left, []);
  });
});
