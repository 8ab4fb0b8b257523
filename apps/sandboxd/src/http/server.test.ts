import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fakeShim, temporaryDirectory } from '../parts.testing.ts';
import type { Entry } from '../sandboxes/context.ts';
import type { SandboxNode } from '../sandboxes/index.ts';
import { encodeFrame, encodeJson, type Frame, frameType } from '../wire/frames.ts';
import { createHttpServer } from './server.ts';

const id = randomUUID();

/** A node with one sandbox, whose agent and files are what a test makes of them. */
async function serve(
  t: TestContext,
  agent: (frame: Frame, shim: Socket) => void,
  parts: { files?: object; workspaces?: object } = {},
) {
  const client = await fakeShim(t, agent);
  const record = { id, status: 'running', instance: 'x', egress: { mode: 'none' } };
  const entry = { record, live: { client, instance: { id: 'x' } }, ports: new Set() } as unknown as Entry;
  const files = { changed: async () => [], hasChanged: async () => false, ...parts.files };
  const most = { bytes: 2 ** 31, inodes: 200_000 };
  const workspaces = { path: () => '/', most, isTooLarge: async () => false, ...parts.workspaces };
  const context = { entries: new Map([[id, entry]]), files, workspaces };
  const server = createHttpServer({ context, parts: { files, log() {} } } as unknown as SandboxNode);
  const socketPath = join(await temporaryDirectory(t), 'node.sock');
  server.listen(socketPath);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const send = (method: string, path: string, body?: object, headers = {}): ClientRequest => {
    const asked = request({ socketPath, method, path: `/v1/sandboxes/${id}${path}`, headers });
    asked.end(body && JSON.stringify(body));
    return asked;
  };
  return {
    server,
    entry,
    send,
    async call(method: string, path: string, body?: object) {
      const [response] = (await once(send(method, path, body), 'response')) as [IncomingMessage];
      return { status: response.statusCode, text: await text(response) };
    },
  };
}

const codeOf = (answer: { text: string }): string => JSON.parse(answer.text).error.code;
const cell = { code: '1', timeout_ms: 1000 };
const command = { shell: 'true', timeout_ms: 1000 };
const exit = { exit_code: 0, timed_out: false, duration_ms: 1 };

test('a connection is kept past the few seconds between two questions of a gateway', async (t) => {
  const { send } = await serve(t, () => {});
  const [response] = (await once(send('GET', '', undefined, { connection: 'keep-alive' }), 'response')) as [
    IncomingMessage,
  ];
  response.resume();
  assert.equal(response.headers['keep-alive'], 'timeout=75');
});

test('whatever error an agent answers with, the caller hears of one that there is', async (t) => {
  const errors = [{ code: 'constructor' }, { code: '__proto__', message: { toString: 1 } }, { code: 'not_found' }];
  const { call } = await serve(t, ({ channel, type }, shim) => {
    if (type === frameType.open) shim.write(encodeJson(channel, frameType.close, { error: errors.shift() }));
  });
  for (const expected of ['internal_error', 'internal_error', 'not_found']) {
    assert.equal(codeOf(await call('POST', '/run_code', cell)), expected);
  }
});

test('what an agent says of a command is passed on once, and half a character at the end of a stream too', async (t) => {
  const { call } = await serve(t, ({ channel, type }, shim) => {
    if (type !== frameType.open) return;
    for (const said of [{ start: true }, { start: true }, { truncated: 'stdout' }, { truncated: 'stdout' }]) {
      shim.write(encodeJson(channel, frameType.event, said));
    }
    shim.write(encodeFrame(channel, frameType.data, Buffer.from([0x61, 0xc3])));
    shim.write(encodeFrame(channel, frameType.data2, Buffer.from([0xe2, 0x82])));
    shim.write(encodeJson(channel, frameType.close, exit));
  });
  const lines = (await call('POST', '/exec', command)).text.trim().split('\n');
  const events = lines.map((line) => JSON.parse(line));
  assert.deepEqual(events.slice(0, -1), [
    { type: 'start' },
    { type: 'truncated', stream: 'stdout' },
    { type: 'stdout', data: 'a' },
    { type: 'stdout', data: '\ufffd' },
    { type: 'stderr', data: '\ufffd' },
  ]);
  assert.equal(events.at(-1).type, 'exit');
});

test('a cell that leaves too much in the workspace says so', async (t) => {
  const agent = ({ channel, type }: Frame, shim: Socket): void => {
    if (type === frameType.open) shim.write(encodeJson(channel, frameType.close, { duration_ms: 1 }));
  };
  const { call } = await serve(t, agent, { workspaces: { isTooLarge: async () => true } });
  const answer = await call('POST', '/run_code', cell);
  assert.deepEqual([answer.status, codeOf(answer)], [413, 'workspace_too_large']);
});

test('a caller that goes away is not waited for with the hashing of its files', async (t) => {
  const stopped = Promise.withResolvers<void>();
  const hashing = Promise.withResolvers<void>();
  const changed = (_root: string, _path: string, _since: number, signal: AbortSignal) => {
    hashing.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        stopped.resolve();
        reject(signal.reason as Error);
      });
    });
  };
  const agent = ({ channel, type }: Frame, shim: Socket): void => {
    if (type === frameType.open) shim.write(encodeJson(channel, frameType.close, exit));
  };
  const { send } = await serve(t, agent, { files: { changed } });
  const asked = send('POST', '/exec', command).on('error', () => {});
  await hashing.promise;
  asked.destroy();
  await stopped.promise;
});

test('a file that became shorter while it was sent breaks the connection', async (t) => {
  const read = async () => ({ bytes: 10, body: Readable.from([Buffer.from('abc')]) });
  const { send } = await serve(t, () => {}, { files: { read } });
  const [response] = (await once(send('GET', '/file?path=a'), 'response')) as [IncomingMessage];
  assert.equal(response.headers['content-length'], '10');
  await assert.rejects(text(response), /aborted/);
});

test('a connection to a port that comes about when its caller is gone is given up', async (t) => {
  const opened = Promise.withResolvers<() => void>();
  const closed = Promise.withResolvers<void>();
  const { server, entry, send } = await serve(t, ({ channel, type }, shim) => {
    if (type === frameType.close) closed.resolve();
    if (type === frameType.open) {
      opened.resolve(() => void shim.write(encodeJson(channel, frameType.event, { connected: true })));
    }
  });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const headers = { connection: 'Upgrade', upgrade: 'tcp' };
  send('GET', '/ports/3000', undefined, headers).on('error', () => {});
  const [[socket], connect] = await Promise.all([accepted, opened.promise]);
  socket.destroy();
  connect();
  await closed.promise;
  assert.equal(entry.ports.size, 0);
});
