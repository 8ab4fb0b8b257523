import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { generateKey, isKeyText, recognisable, scopesWithin } from './keys.rules.ts';

describe('key text', () => {
  test('is svc_, 32 random base62 characters and 6 of their checksum', () => {
    for (let i = 0; i < 200; i++) {
      const text = generateKey();
      assert.match(text, /^svc_[0-9A-Za-z]{38}$/);
      assert.ok(isKeyText(text));
    }
  });

  test('with any one character changed is refused before the database', () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('');
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 41 }), fc.constantFrom(...alphabet), (place, character) => {
        const text = generateKey();
        fc.pre(text[place] !== character);
        assert.ok(!isKeyText(text.slice(0, place) + character + text.slice(place + 1)));
      }),
    );
  });

  test('never throws on any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof isKeyText(text) === 'boolean'));
  });

  test('shows only eight leading and four trailing characters', () => {
    const text = generateKey();
    const { prefix, lastFour } = recognisable(text);
    assert.equal(prefix.length, 8);
    assert.ok(text.startsWith(prefix) && text.endsWith(lastFour));
  });
});

describe('scopes', () => {
  test('of a new key lie within those of the key that makes it', () => {
    assert.ok(scopesWithin(['hosts:read', 'hosts:exec'], ['hosts']));
    assert.ok(!scopesWithin(['hosts:serve'], ['hosts']));
    assert.ok(scopesWithin(['environments:terminal'], ['environments']));
    assert.ok(!scopesWithin(['environments:terminal'], ['environments'], true), 'an app asks for it by itself');
    assert.ok(!scopesWithin(['scheduler:serve'], ['scheduler', 'hosts:serve']));
    assert.ok(scopesWithin(['hosts', '*'], ['*']));
    assert.ok(!scopesWithin(['hosts'], ['hosts:read']));
    assert.ok(!scopesWithin(['*'], ['hosts']));
  });
});
