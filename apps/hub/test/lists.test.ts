import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forkTree } from '../src/pages/sandboxes/forks.rules.ts';
import { joined } from '../src/pages/sessions/pieces.rules.ts';

describe('sandboxes as a tree of forks', () => {
  const shown = (all: { id: string; parent_id?: string }[]) => forkTree(all).map(({ id, depth }) => `${depth}${id}`);

  test('each fork stands below its parent, in the order of the list', () => {
    const all = [
      { id: 'c', parent_id: 'a' },
      { id: 'a' },
      { id: 'd', parent_id: 'c' },
      { id: 'b' },
      { id: 'e', parent_id: 'a' },
    ];
    assert.deepEqual(shown(all), ['0a', '1c', '2d', '1e', '0b']);
  });

  test('one whose parent is not in the list stands at the top, and each is there once', () => {
    assert.deepEqual(
      shown([
        { id: 'x', parent_id: 'gone' },
        { id: 'y', parent_id: 'x' },
      ]),
      ['0x', '1y'],
    );
    assert.deepEqual(shown([]), []);
  });

  test('a chain of ten thousand forks is no deep call', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) => ({
      id: `${at}`,
      ...(at > 0 && { parent_id: `${at - 1}` }),
    }));
    assert.equal(forkTree(chain).at(-1)?.depth, 9_999);
  });
});

describe('events of a session', () => {
  const piece = (text: string, more: object = {}) => ({
    type: 'delta',
    role: 'assistant',
    turn_id: 't',
    text,
    ...more,
  });

  test('the pieces of one answer are one text', () => {
    assert.deepEqual(joined([piece('Sal'), piece('ut'), piece('!')]), [piece('Salut!')]);
  });

  test('pieces of another turn, of another role, or after something else are their own', () => {
    const events = [
      piece('a'),
      piece('b', { turn_id: 'u' }),
      piece('c', { role: 'user', turn_id: 'u' }),
      { type: 'tool' },
      piece('d'),
    ];
    assert.deepEqual(joined(events), events);
  });

  test('the list that is given stays as it is', () => {
    const events = [piece('a'), piece('b')];
    joined(events);
    assert.deepEqual(events, [piece('a'), piece('b')]);
  });
});
