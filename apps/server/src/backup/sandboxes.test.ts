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
  { code = 'not_found', isExpected = true, ignored = 0 } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-backup-'));
  const socket = join(folder, 'node.sock');
  let asked = 0;
  const agent = createServer(({ url = '' }, response) => {
    if (++asked <= ignored) return;
    const answer = answers?.[url];
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(JSON.stringify(answer ?? { error: { code, message: 'no such route' } }));
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

describe('sandboxes that are not in a backup', () => {
  const box = { id: 'box', owner: 'us', backend: 'v2', status: 'paused', image_digest: 'sha256:aa' };
  const node = { '/v1/node': { id: 'node' } };

  test('are named with what to do, where the node agent is older than this command', async () => {
    const { kept, left } = await takenOf({ ...node, '/v1/sandboxes': { sandboxes: [box] } });
    assert.deepEqual(kept, []);
    const rest = { finished_at: '', rows: {}, entries: [] };
    const { left_out } = leftOut({ ...rest, sandboxes: { kept, left } });
    assert.match(String(left_out), /^sandbox box: its node agent is of an older version: restart the platform/);
    assert.deepEqual(leftOut({ ...rest, sandboxes: { kept, left: [] } }), {});
  });

  test('are not missed, where they ended meanwhile', async () => {
    const { left } = await takenOf({ ...node, '/v1/sandboxes': { sandboxes: [box] } }, { code: 'no_sandbox' });
    assert.deepEqual(left, []);
  });

  test('are asked for again, where the node agent was late', async () => {
    const taken = await takenOf({ ...node, '/v1/sandboxes': { sandboxes: [box] } }, { ignored: 2 });
    assert.deepEqual(
      taken.left.map(({ id }) => id),
      ['box'],
    );
  });

  test('are all of them, where the node agent does not answer or cannot list them, and none where it never ran', async () => {
    const all = [{ id: 'all', why: 'no node agent answers: start the platform for them' }];
    assert.deepEqual((await takenOf(undefined)).left, all);
    assert.deepEqual((await takenOf(node)).left, all);
    assert.deepEqual((await takenOf(undefined, { isExpected: false })).left, []);
  });
});
