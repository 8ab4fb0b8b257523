import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient, isSvcError, uploadFile } from '@svc/sdk';
import { shared } from './testing.shared.ts';
import { openTest } from './testing.ts';

const run = promisify(execFile);
const python = spawnSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).stdout.trim();
const skip = python === '' && 'there is no python3 here';
const source = resolve(import.meta.dirname, '../../../packages/sdk-python/src');
const story = `
import asyncio, json
from svc_sdk import AsyncClient, Client, async_upload_file, upload_file
content = bytes(range(256)) * 4096
seen = []
client = Client(retries=0)
one = upload_file(client, content, metadata={"filename": "ș.wav"}, piece_bytes=200000, on_progress=lambda u: seen.append(u["offset"]))
again = upload_file(client, content, id=one["id"])
two = asyncio.run(async_upload_file(AsyncClient(retries=0), content, piece_bytes=200000))
print(json.dumps([one["offset"], one["metadata"], "completed_at" in one, again["id"] == one["id"], seen == sorted(seen), two["offset"], "completed_at" in two]))
`;

describe('a file that is sent through a bad network', () => {
  const { gateway, account } = shared(() => openTest());
  /** Serves a request whole and then breaks the connection, or breaks it in the middle. */
  let asked = 0;
  const proxy = createServer((incoming, outgoing) => {
    asked += 1;
    const fate = asked % 4;
    const { method, url, headers } = incoming;
    const to = request(gateway.url + (url ?? ''), { method, headers }, (answer) => {
      if (fate === 1) answer.resume().on('end', () => outgoing.destroy());
      else answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    to.on('error', () => outgoing.destroy());
    outgoing.on('error', () => {});
    if (fate !== 3) incoming.pipe(to);
    else {
      incoming.once('data', (chunk: Buffer) => {
        to.write(chunk.subarray(0, 1_000));
        to.destroy();
        incoming.destroy();
      });
      incoming.once('end', () => to.destroy());
    }
  });
  let baseUrl = '';
  before(async () => {
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });

  test('arrives whole, a piece after the other, and goes on where it was', async () => {
    const client = createClient({ baseUrl, apiKey: account.key, retries: 0 });
    const content = new Uint8Array(1_000_000).map((_, n) => n % 251);
    const seen: number[] = [];
    const onProgress = ({ offset }: { offset: number }) => void seen.push(offset);
    const metadata = { filename: 'ș.wav' };
    const sent = await uploadFile(client, new Blob([content]), { metadata, pieceBytes: 200_000, onProgress });
    assert.deepEqual([sent.offset, sent.length, sent.metadata], [1_000_000, 1_000_000, metadata]);
    assert.ok(sent.completed_at !== undefined && asked > 12);
    assert.deepEqual(
      seen,
      seen.toSorted((one, other) => one - other),
    );
    const again = await uploadFile(client, content, { id: sent.id });
    assert.equal(again.id, sent.id);
    const other = await uploadFile(client, content.subarray(1), { id: sent.id }).catch((error: unknown) => error);
    assert.ok(isSvcError(other, 'upload_conflict'));
  });

  test('does so from Python too, awaited and not', { skip }, async () => {
    const env = { ...process.env, PYTHONPATH: source, SVC_BASE_URL: baseUrl, SVC_API_KEY: account.key };
    const { stdout } = await run(python, ['-c', story], { env });
    const size = 256 * 4_096;
    assert.deepEqual(JSON.parse(stdout), [size, { filename: 'ș.wav' }, true, true, true, size, true]);
  });
});
