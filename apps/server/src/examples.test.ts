import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import { bodyIds, exampleIds, notSent, Scene, sendExample } from './testing.examples.ts';
import { preparations } from './testing.preparations.ts';
import { shared } from './testing.shared.ts';
import { createAccount, openTest } from './testing.ts';
import { openExampleWorld } from './testing.world.ts';

describe('the example of an operation is answered as it says:', () => {
  const { gateway, world } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const world = opening.use(await openExampleWorld());
    const { gateway } = opening.use(await openTest({ clock: world.clock, settings: world.settings }));
    const stack = opening.move();
    return { gateway, world, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  for (const id of exampleIds(false)) {
    test(id, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), world.makers);
      await sendExample(scene, id, preparations[id]);
    });
  }

  for (const id of bodyIds(false)) {
    test(`${id}, with null for every optional field that its body does not set`, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), world.makers);
      await sendExample(scene, id, preparations[id], { nulls: true });
    });
  }
});

describe('the examples', () => {
  test('are sent for every operation, but for those that are listed with a reason', () => {
    const all = Object.entries(docs).flatMap(([feature, verbs]) =>
      Object.keys(verbs).map((verb) => `${feature}.${verb}`),
    );
    const sent = [...exampleIds(false), ...exampleIds(true), ...Object.keys(notSent)];
    assert.deepEqual(sent.toSorted(), all.toSorted());
    for (const [id, reason] of Object.entries(notSent)) assert.ok(reason.length > 10, id);
    assert.deepEqual(
      Object.keys(preparations).filter((id) => !sent.includes(id)),
      [],
    );
  });
});
