import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crowd, prepareAll, sizeOf } from './testing.crowd.ts';
import { routeOf, Scene, sendRequest } from './testing.examples.ts';
import { asOwner, createAccount, openTest } from './testing.ts';
import { openExampleWorld } from './testing.world.ts';

/** Rows that each row of the account becomes: more than a list answers at once. */
const copies = 2_500;
/** What an answer has at most: bytes, values, and entries of a list. */
const most = { bytes: 4 * 2 ** 20, values: 20_000, longest: 1_000 };
/** Answers that may have more, each with the reason. */
const borne: Readonly<Record<string, string>> = {
  'transcripts.get': 'the document has all utterances in one answer; it is written in slices',
  'transcripts.publicTranscript': 'as transcripts.get',
  'transcripts.words': 'a page has 20,000 words, or 4 MiB',
  'transcripts.list': 'a recording has 50 speakers',
  'connections.list': 'an app has 100 keys',
  'connections.get': 'as connections.list',
};

describe('an account that has thousands of everything', () => {
  test('is answered within the bounds of an answer by every operation that reads', async () => {
    await using world = await openExampleWorld();
    await using t = await openTest({ clock: world.clock, settings: world.settings });
    await using scene = new Scene(t.gateway, await createAccount(t.gateway), world.makers);
    const requests = await prepareAll(scene);
    const made = await asOwner(t.database, (sql) => crowd(sql, scene.account.id, copies));
    assert.ok(made.size >= 35 && [...made.values()].every((rows) => rows >= copies), JSON.stringify([...made]));
    const over: object[] = [];
    for (const [id, request] of requests) {
      const answer = await sendRequest(scene, routeOf(id), request);
      const text = await answer.text();
      assert.equal(answer.status, 200, `${id}: ${text.slice(0, 300)}`);
      const size = sizeOf(text);
      const isOver = (['bytes', 'values', 'longest'] as const).some((name) => size[name] > most[name]);
      if (isOver && borne[id] === undefined) over.push({ id, ...size });
    }
    assert.deepEqual(over, []);
  });
});
