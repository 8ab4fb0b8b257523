import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { CommandError } from '../kernel/base/command-error.ts';
import { paddingOf, readTar, tarEnd, tarHeader } from './tar.ts';

const entries: [string, Buffer][] = [
  ['a', Buffer.alloc(0)],
  ['postgres/base/', Buffer.alloc(0)],
  ['postgres/base/1', randomBytes(1)],
  ['blobs/exactly-a-block', randomBytes(512)],
  [`blobs/${'long/'.repeat(60)}name`, randomBytes(1_025)],
  [`data/${'ș'.repeat(80)}`, Buffer.from('ș')],
];
const written = Buffer.concat([
  ...entries.flatMap(([name, bytes]) => [tarHeader(name, bytes.length, 1_000_000_000), bytes, paddingOf(bytes.length)]),
  tarEnd,
]);

async function read(bytes: Buffer, chunk: number): Promise<[string, Buffer][]> {
  const found: [string, Buffer][] = [];
  for await (const { name, body } of readTar(inChunks(bytes, chunk))) {
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(part);
    found.push([name, Buffer.concat(parts)]);
  }
  return found;
}

async function* inChunks(bytes: Buffer, chunk: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
}

test('what was written is read again, in chunks of any size', async () => {
  for (const chunk of [1, 511, 512, 700, 1_000_000]) assert.deepEqual(await read(written, chunk), entries);
});

test('tar of the system lists the same names', { skip: process.platform !== 'linux' }, () => {
  const listed = execFileSync('tar', ['-t', '--quoting-style=literal'], { input: written, encoding: 'utf8' });
  assert.deepEqual(
    listed.trimEnd().split('\n'),
    entries.map(([name]) => name),
  );
});

test('a tar that ends anywhere before its end is refused', async () => {
  for (let length = 0; length < written.length; length += 97)
    await assert.rejects(read(written.subarray(0, length), 4_096), CommandError, `of ${length} bytes`);
});

test('bytes behind the end, and a header that was changed, are refused', async () => {
  await assert.rejects(read(Buffer.concat([written, Buffer.from('x')]), 4_096), CommandError);
  for (let at = 0; at < 512; at += 13) {
    const changed = Buffer.from(written);
    changed[at] = (changed[at] ?? 0) ^ 0x20;
    await assert.rejects(read(changed, 4_096), CommandError, `byte ${at}`);
  }
});

test('an entry of more than 8 GiB keeps its length', async () => {
  const length = 20 * 1024 ** 3;
  for await (const { bytes } of readTar(inChunks(tarHeader('blobs/long', length, 0), 512))) {
    assert.equal(bytes, length);
    break;
  }
});
