import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createKeyring, openUnder, sealUnder } from './crypto.ts';

const p = { purpose: 'p' };

describe('keyring', () => {
  const keyring = createKeyring('a master key for tests only, 32+ characters');
  const same = createKeyring('a master key for tests only, 32+ characters');
  const other = createKeyring('another master key for tests, 32+ characters');

  test('opens what it sealed, in this process and the next', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert.deepEqual(same.open(p, keyring.seal(p, Buffer.from(bytes))), Buffer.from(bytes));
      }),
    );
  });

  test('refuses what was changed in any one bit, cut short or made longer', () => {
    const sealed = keyring.seal(p, Buffer.from('secret'));
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      assert.throws(() => keyring.open(p, changed));
    }
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => keyring.open(p, sealed.subarray(0, length)), `${length} bytes`);
    }
    assert.throws(() => keyring.open(p, Buffer.concat([sealed, Buffer.alloc(1)])));
  });

  test('what is bound to a place opens there alone', () => {
    const key = Buffer.alloc(32, 7);
    const sealed = sealUnder(key, Buffer.from('secret'), 'one 1');
    assert.equal(openUnder(key, sealed, 'p', 'one 1').toString(), 'secret');
    for (const bound of ['one 2', '', undefined]) assert.throws(() => openUnder(key, sealed, 'p', bound));
    assert.throws(() => openUnder(key, sealUnder(key, Buffer.from('secret')), 'p', 'one 1'));
  });

  test('a tag that was cut short is no tag', () => {
    const empty = keyring.seal(p, Buffer.alloc(0));
    for (const length of [16, 20, 24, 25, 26, 27]) {
      assert.throws(() => keyring.open(p, empty.subarray(0, length)), `${length - 12} bytes of tag`);
    }
  });

  test('purposes and master keys do not stand in for each other', () => {
    const sealed = keyring.seal(p, Buffer.from('x'));
    assert.throws(() => keyring.open({ purpose: 'q' }, sealed));
    assert.throws(() => other.open(p, sealed));
    assert.notDeepEqual(keyring.mac('p', 'x'), keyring.mac('q', 'x'));
    assert.notDeepEqual(keyring.mac('p', 'x'), other.mac('p', 'x'));
    assert.deepEqual(keyring.mac('p', 'x'), same.mac('p', 'x'));
  });

  test('the same text is never sealed to the same bytes', () => {
    const seen = new Set(Array.from({ length: 1_000 }, () => keyring.seal(p, Buffer.from('x')).toString('hex')));
    assert.equal(seen.size, 1_000);
  });

  test('after a rotation keys are still recognised, and nothing else of the key before is worth anything', () => {
    const rotated = createKeyring(
      'another master key for tests, 32+ characters',
      'a master key for tests only, 32+ characters',
    );
    assert.deepEqual(rotated.mac('api-key', 'x'), keyring.mac('api-key', 'x'));
    assert.deepEqual(rotated.mac('artifacts', 'x'), other.mac('artifacts', 'x'));
    assert.throws(() => rotated.open(p, keyring.seal(p, Buffer.from('x'))));
    assert.deepEqual(other.open(p, rotated.seal(p, Buffer.from('x'))), Buffer.from('x'));
  });
});
