import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { clearNode } from './clear.ts';
import { needsRoot, temporaryDirectory } from './parts.testing.ts';
import { createDecoder, encodeJson, frameType, parseJson } from './wire/frames.ts';

test('a sandbox that is in no control group is told to end before its node is removed', {
  skip: needsRoot,
}, async (t) => {
  const dir = join(await temporaryDirectory(t), 'node');
  const live = join(dir, 'live/x');
  await mkdir(live, { recursive: true });
  const told: unknown[] = [];
  const shim = createServer((socket) => {
    const decode = createDecoder((frame) => {
      told.push(parseJson(frame.payload), existsSync(live));
      socket.end(encodeJson(0, frameType.event, { ok: true }));
    });
    socket.on('data', decode);
  });
  shim.listen(join(live, 'shim.sock'));
  await once(shim, 'listening');
  t.after(() => shim.close());
  await clearNode(dir);
  assert.deepEqual(told, [{ stop: true }, true]);
  assert.equal(existsSync(dir), false);
});
