import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTurns } from './turns.ts';

describe('turns of platforms at a node', () => {
  test('only one above the last is taken, of each installation by itself, also by the next process', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir, () => {});
    assert.deepEqual(await turns.take({ owner: 'a', turn: 5 }), { accepted: true, heard: 5 });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 5 }), { accepted: false, heard: 5 });
    assert.deepEqual(await turns.take({ owner: 'b', turn: 1 }), { accepted: true, heard: 1 });
    const next = await openTurns(dir, () => {});
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
    const turns = await openTurns(dir, () => {});
    for (let n = 0; n < 64; n += 1) await turns.take({ owner: `o${n}`, turn: 2 });
    await turns.take({ owner: 'o0', turn: 3 });
    await turns.take({ owner: 'new', turn: 1 });
    const kept = Object.keys(JSON.parse(await readFile(join(dir, 'turns.json'), 'utf8')));
    assert.deepEqual([kept.length, kept.includes('o0'), kept.includes('o1')], [64, true, false]);
    await rm(dir, { recursive: true });
  });

  test('of many at once each is judged by all before it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir, () => {});
    const taken = await Promise.all([3, 1, 2, 4, 4].map((turn) => turns.take({ owner: 'a', turn })));
    assert.deepEqual(
      taken.map(({ accepted }) => accepted),
      [true, false, false, true, false],
    );
    await rm(dir, { recursive: true });
  });
});

describe('turns of a platform that lost some', () => {
  test('a process that was heard before goes on above what was heard, a copy does not; a takeover forgets the first', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    const turns = await openTurns(dir, () => {});
    await turns.take({ owner: 'a', turn: 8, holder: 'living' });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 7, holder: 'copy' }), { accepted: false, heard: 8 });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 7, holder: 'living' }), { accepted: true, heard: 9 });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 1_000_009, holder: 'copy' }), {
      accepted: true,
      heard: 1_000_009,
    });
    assert.equal((await turns.take({ owner: 'a', turn: 10, holder: 'living' })).accepted, false);
    await rm(dir, { recursive: true });
  });

  test('a file that a power cut left empty holds none, and one that cannot be written refuses nothing', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-turns-'));
    await writeFile(join(dir, 'turns.json'), '');
    const said: string[] = [];
    const turns = await openTurns(dir, (message) => said.push(message));
    await rm(dir, { recursive: true });
    assert.deepEqual(await turns.take({ owner: 'a', turn: 3 }), { accepted: true, heard: 3 });
    assert.deepEqual(said, ['turns of platforms were not read', 'turns of platforms were not kept']);
  });
});
