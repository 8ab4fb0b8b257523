import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTurns } from './turns.ts';

describe('turns of platforms at a node', () => {
  test('only one above the last is taken, of each installation by itself, also by the next process', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir);
    assert.deepEqual(await turns.take({ owner: 'a', turn: 5 }), { accepted: true, heard: 5 });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 5 }), { accepted: false, heard: 5 });
    assert.deepEqual(await turns.take({ owner: 'b', turn: 1 }), { accepted: true, heard: 1 });
    const next = await openTurns(dir);
    assert.deepEqual(await next.take({ owner: 'a', turn: 4 }), { accepted: false, heard: 5 });
    assert.deepEqual(await next.take({ owner: 'a', turn: 6 }), { accepted: true, heard: 6 });
    assert.deepEqual(
      [next.allows('a', '6'), next.allows('a', '7'), next.allows('a', undefined), next.allows('c', undefined)],
      [true, false, false, true],
    );
    await rm(dir, { recursive: true });
  });

  test('those of 64 installations are kept, and the one that was heard least recently goes', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir);
    for (let n = 0; n < 64; n += 1) await turns.take({ owner: `o${n}`, turn: 2 });
    await turns.take({ owner: 'o0', turn: 3 });
    await turns.take({ owner: 'new', turn: 1 });
    const kept = Object.keys(JSON.parse(await readFile(join(dir, 'turns.json'), 'utf8')));
    assert.deepEqual([kept.length, kept.includes('o0'), kept.includes('o1')], [64, true, false]);
    await rm(dir, { recursive: true });
  });

  test('of many at once each is judged by all before it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir);
    const taken = await Promise.all([3, 1, 2, 4, 4].map((turn) => turns.take({ owner: 'a', turn })));
    assert.deepEqual(
      taken.map(({ accepted }) => accepted),
      [true, false, false, true, false],
    );
    await rm(dir, { recursive: true });
  });
});
