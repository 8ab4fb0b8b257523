import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createDecoder, encodeFrame, encodeJson, type Frame, frameType, windowBytes } from '../wire/frames.ts';
import { createEgress } from './egress.ts';
import type { ShimSpec } from './spec.ts';

const host = 'localhost';

/** The way out as an agent meets it, with a server that may be reached and reads nothing. */
async function agentOf(t: TestContext) {
  const server = createServer((socket) => {
    socket.on('error', () => {}).pause();
    t.after(() => socket.destroy());
  });
  server.listen(0);
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const waiting = new Map<number, (frame: Frame) => void>();
  const decode = createDecoder((frame) => waiting.get(frame.type)?.(frame));
  const spec = {
    egress: { mode: 'allowlist', domains: [host] },
    rules: { allowHosts: [host], ports: [port], presets: { pypi: [], npm: [] } },
  };
  const table = createEgress(spec as unknown as ShimSpec, decode);
  return {
    port,
    say: createDecoder((frame) => table.receive(frame)),
    /** The payload of the next frame of a type. */
    hear: (type: number) =>
      new Promise<Record<string, unknown>>((resolve) => {
        waiting.set(type, ({ payload }) => resolve(JSON.parse(payload.toString())));
      }),
  };
}

test('a name of megabytes is refused', async (t) => {
  const { port, say, hear } = await agentOf(t);
  const closed = hear(frameType.close);
  say(encodeJson(2, frameType.open, { host: 'x'.repeat(10_000_000), port }));
  assert.equal((await closed)['reason'], 'no host name');
});

test('an agent that sends past its window loses the connection, made or not', async (t) => {
  const { port, say, hear } = await agentOf(t);
  const chunk = encodeFrame(2, frameType.data, Buffer.alloc(windowBytes));
  const early = hear(frameType.close);
  say(encodeJson(2, frameType.open, { host, port }));
  for (let i = 0; i < 3; i += 1) say(chunk);
  assert.equal((await early)['reason'], 'more than the window');

  const connected = hear(frameType.event);
  say(encodeJson(2, frameType.open, { host, port }));
  await connected;
  const closed = hear(frameType.close);
  const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 99999999\r\n\r\n`;
  say(encodeFrame(2, frameType.data, Buffer.from(head)));
  for (let i = 0; i < 3; i += 1) say(chunk);
  assert.equal((await closed)['reason'], 'more than the window');
});

test('connections that are given up while they are made count as long as they are made', async (t) => {
  const { port, say, hear } = await agentOf(t);
  const closed = hear(frameType.close);
  for (let channel = 2; channel < 400; channel += 2) {
    say(encodeJson(channel, frameType.open, { host, port }));
    say(encodeJson(channel, frameType.close, {}));
  }
  say(encodeJson(400, frameType.open, { host, port }));
  assert.equal((await closed)['reason'], 'too many connections');
});
