import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeShim } from '../parts.testing.ts';
import { encodeCredit, encodeFrame, encodeJson, frameType, windowBytes } from './frames.ts';

test('an agent that sends more than its window allows loses the channel, and no other', async (t) => {
  const chunk = Buffer.alloc(65_536);
  const cancelled = Promise.withResolvers<number>();
  const client = await fakeShim(t, ({ channel, type }, shim) => {
    if (type === frameType.close) cancelled.resolve(channel);
    if (type !== frameType.open) return;
    if (channel > 1) shim.write(encodeJson(channel, frameType.close, { fine: true }));
    else for (let sent = 0; sent < 8 * windowBytes; sent += chunk.length) shim.write(encodeFrame(1, 2, chunk));
  });
  const closed = Promise.withResolvers<Record<string, unknown>>();
  let taken = 0;
  client.open(
    { kind: 'port', port: 1 },
    {
      data: (bytes) => {
        taken += bytes.length;
      },
      close: (payload) => closed.resolve(payload),
    },
  );
  assert.equal(((await closed.promise)['error'] as { code: string }).code, 'internal_error');
  assert.equal(taken, 4 * windowBytes);
  assert.equal(await cancelled.promise, 1);
  assert.deepEqual(await client.ask({ kind: 'ping' }), { fine: true });
});

test('what a reader returns is counted again, so that a long stream arrives whole', async (t) => {
  const chunk = Buffer.alloc(65_536);
  const most = 32 * windowBytes;
  let sent = 0;
  const client = await fakeShim(t, ({ type }, shim) => {
    if (type !== frameType.open && type !== frameType.credit) return;
    sent += chunk.length;
    shim.write(sent > most ? encodeJson(1, frameType.close, { end: true }) : encodeFrame(1, 2, chunk));
  });
  let taken = 0;
  const end = await new Promise((resolve) => {
    client.open(
      { kind: 'port', port: 1 },
      {
        data(bytes, _stream, done) {
          taken += bytes.length;
          done();
        },
        close: resolve,
      },
    );
  });
  assert.deepEqual([end, taken], [{ end: true }, most]);
});

test('no credit of an agent lets more than a window be under way', async (t) => {
  const client = await fakeShim(t, ({ type }, shim) => {
    if (type === frameType.open) for (let i = 0; i < 3; i += 1) shim.write(encodeCredit(1, 0xffffffff));
  });
  await new Promise<void>((resolve) => {
    let drains = 0;
    const channel = client.open(
      { kind: 'port', port: 1 },
      {
        close() {},
        drain() {
          drains += 1;
          if (drains < 3) return;
          assert.equal(channel.write(Buffer.alloc(windowBytes - 1)), true);
          assert.equal(channel.write(Buffer.alloc(1)), false);
          resolve();
        },
      },
    );
  });
});
