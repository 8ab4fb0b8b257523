import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import { bodyIds, exampleIds, isTested, notSent, Scene, sendExample, testedFeature } from './testing.examples.ts';
import { rowsOfOthers } from './others.ts';
import { Witness } from './testing.others.ts';
import { preparations } from './testing.preparations.ts';
import { statementsOf, wideReads } from './testing.plans.ts';
import { shared } from './testing.shared.ts';
import { createAccount, openTest, testDatabase, until } from './testing.ts';
import { openExampleWorld } from './testing.world.ts';

/** Statements of tickers. */
const looks = [
  /recursive asking/,
  /busy_by is not null and busy_until/,
  /from transcripts\.steps s\s+where state = 'running'/,
];

/** Reads of a whole index that are meant, or do no harm, each with the reason. */
const borne: Readonly<Record<string, [statement: RegExp, why: string]>> = {
  sandboxes_live: [/may_run|moved_at/, 'what lives at one time has places on nodes'],
  spans_open: [/exec_v1/, 'what lives at one time has places on nodes'],
  execs_live: [/key_lives/, 'each device has a bound of commands that are under way'],
  runs_cloud_vm: [/cloud_vm_view/, 'each account has a bound of runs that wait'],
  environments_by_account: [/project_id/, 'its rows stay for long, and statistics follow their number'],
  keys_parent: [/below/, 'its rows stay for long, and statistics follow their number'],
};

describe('the example of an operation is answered as it says:', () => {
  const { gateway, world, witness } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const world = opening.use(await openExampleWorld());
    const { gateway, database } = opening.use(await openTest({ clock: world.clock, settings: world.settings }));
    const witness = await Witness.open(gateway, database);
    const stack = opening.move();
    return { gateway, world, witness, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  for (const id of exampleIds(false).filter(isTested)) {
    test(id, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), world.makers);
      witness.expect(scene);
      await sendExample(scene, id, preparations[id], { ready: () => witness.join(scene, id) });
    });
  }

  test('what a request writes for another account stands in a list, with what bounds it', async () => {
    const [found, known] = [await witness.tables(), Object.keys(rowsOfOthers)];
    if (testedFeature === undefined) assert.deepEqual(found, known);
    else
      assert.ok(
        found.every((table) => known.includes(table)),
        found.join(', '),
      );
  });

  for (const id of bodyIds(false).filter(isTested)) {
    test(`${id}, with null for every optional field that its body does not set`, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), world.makers);
      await sendExample(scene, id, preparations[id], { nulls: true });
    });
  }

  test('no statement of all that reads a partial index from end to end for a few of its rows', async () => {
    const { sql, background } = gateway.kernel;
    const found = new Set<string>();
    // Of one feature the tickers' are most: how many have looked by then is the machine's business.
    const fewest = testedFeature === undefined ? 300 : 40;
    world.clock.leap(60 * 60_000);
    // Of the tickers too, of which these are the last to look.
    await until(async () => {
      for (const text of await statementsOf([sql, background])) found.add(text);
      return found.size > fewest && looks.every((look) => [...found].some((text) => look.test(text)));
    });
    const texts = [...found].sort();
    // Of tables without a row, so that plans are the same each time: statistics of a quiet night at their worst.
    await using empty = await testDatabase();
    const wide = await wideReads(empty, texts);
    assert.deepEqual(
      wide.filter(({ index, text }) => !(borne[index]?.[0].test(text) ?? false)),
      [],
    );
  });
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
