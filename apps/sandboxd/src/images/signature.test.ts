import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../parts.testing.ts';
import { isSignedBy, newSigningKey, publicKeyOf, readPublicKey, readSigningKey, signHeader } from './signature.ts';

const header = {
  template: 'svc-base',
  recipe: 'a'.repeat(64),
  built_at: '2026-01-01T00:00:00Z',
  digest: `sha256:${'0'.repeat(64)}`,
  bytes: 1_000,
};

test('a key that signs images is for its owner alone, takes no other file away, and is told by its public key', async (t) => {
  const file = join(await temporaryDirectory(t), 'key');
  const shown = newSigningKey(file);
  assert.match(shown, /^ed25519:[A-Za-z0-9_-]{43}$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(publicKeyOf(readSigningKey(file)), shown);
  const before = readFileSync(file, 'utf8');
  assert.throws(() => newSigningKey(file), /is there already/);
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('a signature holds for the key that made it and for every field as it was, and for nothing else', async (t) => {
  const place = await temporaryDirectory(t);
  const own = readPublicKey(newSigningKey(join(place, 'own')));
  const other = readPublicKey(newSigningKey(join(place, 'other')));
  const signed = { ...header, signature: signHeader(header, readSigningKey(join(place, 'own'))) };
  assert.equal(isSignedBy(signed, own), true);
  assert.equal(isSignedBy(signed, other), false);
  assert.equal(isSignedBy(header, own), false);
  const flipped = Buffer.from(signed.signature, 'base64url');
  flipped[63] = (flipped[63] ?? 0) ^ 1;
  const changes = [
    { template: 'desktop' },
    { recipe: 'b'.repeat(64) },
    { built_at: '2026-01-02T00:00:00Z' },
    { digest: `sha256:${'1'.repeat(64)}` },
    { bytes: 1_001 },
    { signature: flipped.toString('base64url') },
  ];
  for (const change of changes) assert.equal(isSignedBy({ ...signed, ...change }, own), false, JSON.stringify(change));
});

test('what is no key is refused in a sentence that quotes nothing of it', async (t) => {
  const place = await temporaryDirectory(t);
  for (const text of [
    '',
    'ed25519:',
    `ed25519:${'A'.repeat(42)}`,
    `rsa:${'A'.repeat(43)}`,
    `ed25519:${'='.repeat(43)}`,
  ]) {
    assert.throws(() => readPublicKey(text), /^Error: the public key is ed25519: and 43 characters/);
  }
  writeFileSync(join(place, 'secret'), 'a password');
  assert.throws(
    () => readSigningKey(join(place, 'secret')),
    (error: Error) => /is no key that signs images/.test(error.message) && !/password/.test(error.message),
  );
  assert.throws(() => readSigningKey(join(place, 'none')), /cannot read .*: ENOENT/);
});
