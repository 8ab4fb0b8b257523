import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterFailure, markOf, nextPieceBytes, tusMetadata, waitMsOf } from '../src/pages/transcripts/tus.rules.ts';

const [kib, mib] = [1_024, 1_048_576];

test('pieces begin small, grow on a quick line to what the server takes, and shrink on a slow one', () => {
  const file = 500 * mib;
  let bytes = nextPieceBytes(file);
  assert.equal(bytes, 256 * kib);
  const sizes: number[] = [];
  for (let n = 0; n < 7; n += 1) sizes.push((bytes = nextPieceBytes(file, { bytes, tookMs: 100 })));
  assert.deepEqual(
    sizes.map((size) => size / kib),
    [512, 1_024, 2_048, 4_096, 8_192, 8_192, 8_192],
  );
  assert.equal(nextPieceBytes(file, { bytes: mib, tookMs: 2_000 }), mib);
  for (let n = 0; n < 20; n += 1) bytes = nextPieceBytes(file, { bytes, tookMs: 60_000 });
  assert.equal(bytes, 64 * kib);
});

test('no file has more pieces than the server takes', () => {
  for (const file of [1, 10 * mib, 600 * mib, 2_048 * mib]) {
    const least = nextPieceBytes(file, { bytes: 1, tookMs: 60_000 });
    assert.ok(file / least <= 9_000 && least <= 8 * mib, String(file));
  }
});

test('an upload waits where the fault passes, begins anew where the server has it no more, and stops where it is refused', () => {
  const after = (status: number, code: string): string => afterFailure({ status, code });
  assert.equal(after(0, 'connection_error'), 'wait');
  assert.equal(after(0, 'timeout'), 'wait');
  assert.equal(after(503, 'unavailable'), 'wait');
  assert.equal(after(423, 'upload_locked'), 'wait');
  assert.equal(after(429, 'rate_limited'), 'wait');
  assert.equal(after(409, 'upload_conflict'), 'again');
  assert.equal(after(410, 'upload_gone'), 'anew');
  assert.equal(after(404, 'not_found'), 'anew');
  for (const [status, code] of [
    [429, 'quota_exceeded'],
    [413, 'payload_too_large'],
    [400, 'bad_request'],
    [401, 'invalid_api_key'],
  ] as const)
    assert.equal(after(status, code), 'refused');
});

test('tries wait longer and longer, half a minute at most', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 100].map(waitMsOf), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test('a name in any script goes along', () => {
  const [, encoded = ''] = tusMetadata({ filename: 'Ședință 1.m4a' }).split(' ');
  assert.equal(Buffer.from(encoded, 'base64').toString(), 'Ședință 1.m4a');
});

test('a file is known again by its length and its ends, whatever it is called', async () => {
  const bytes = (change?: number): Blob => {
    const all = new Uint8Array(300 * kib);
    if (change !== undefined) all[change] = 1;
    return new Blob([all]);
  };
  assert.equal(await markOf(bytes()), await markOf(new File([bytes()], 'other name.wav')));
  for (const change of [0, 300 * kib - 1]) assert.notEqual(await markOf(bytes(change)), await markOf(bytes()));
  assert.notEqual(await markOf(bytes().slice(1)), await markOf(bytes()));
  assert.match(await markOf(new Blob([])), /^0-/);
});
