import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type Attack, corpusFile, runAttack } from './attacks/steps.ts';
import { floods } from './attacks/floods.ts';
import { openWorld, type World } from './attacks/world.ts';
import { killAll } from './platform.ts';
import { ownSandboxes, withoutSandboxes } from './sandboxes.ts';

const corpus = JSON.parse(readFileSync(corpusFile, 'utf8')) as Attack[];

describe('what one account tries against the platform and the others', () => {
  let world: World;
  before(async () => {
    world = await openWorld(withoutSandboxes ? undefined : ownSandboxes);
  });
  after(async () => {
    await world?.[Symbol.asyncDispose]();
    killAll();
  });

  for (const attack of corpus) {
    test(`${attack.row}: ${attack.name}`, { skip: attack.sandboxes ? withoutSandboxes : false }, () =>
      runAttack(world, attack),
    );
  }

  test('each flood is in the corpus', () => {
    const used = corpus.flatMap(({ steps }) => steps.flatMap((step) => ('flood' in step ? [step.flood] : [])));
    assert.deepEqual(new Set(used), new Set(Object.keys(floods)));
  });
});
