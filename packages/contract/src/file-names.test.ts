import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOfName, shownName } from './file-names.ts';

test('a name of any bytes is shown as text that stands for it alone; UTF-8 is shown as it is', () => {
  assert.equal(shownName(Buffer.from('ț 100%E9 😀')), 'ț 100%E9 😀');
  const cases: [string, string][] = [
    ['636166e9', 'caf%E9'],
    ['ff25c89bf09f98', '%FF%25ț%F0%9F%98'],
    ['e925453900', '%E9%25E9\u0000'],
    ['eda080', '%ED%A0%80'],
  ];
  for (const [hex, shown] of cases) {
    assert.equal(shownName(Buffer.from(hex, 'hex')), shown);
    assert.equal(Buffer.from(bytesOfName(shown) ?? []).toString('hex'), hex);
  }
  // What no name is shown as stands for itself: also what would be UTF-8, a slash or a dot.
  for (const name of ['plain', '100%', '%e9', '%2F', '%2E%2E', '%C8%9B', '%25'])
    assert.equal(bytesOfName(name), undefined, name);
});
