import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Json } from '@svc/contract';
import {
  type ExampleRequest,
  exampleIds,
  prepareExample,
  routeOf,
  Scene,
  sendRequest,
} from '../apps/server/src/testing.examples.ts';
import { preparations } from '../apps/server/src/testing.preparations.ts';
import { createAccount } from '../apps/server/src/testing.ts';
import { dearestBody, type Document, refusedOf, withLess } from './attacks/dearest.ts';
import { openWorld, type World } from './torture/world.ts';

/**
 * Statements of one request, whatever its body has: lists are written by one statement, and not by one for each entry.
 */
const mostStatements = 32;
/** Writes that may have more, each with the reason. */
const borne: Readonly<Record<string, string>> = {
  'hosts.results': 'reports 64 results at most, in place of as many requests; one that is waited for here asks nothing',
};
/**
 * Statements of one request that wait for their answer at one time: what each holds is written in one turn of the loop.
 */
const mostAtOnce = 16;
const toModels = 'what a model is asked goes to it as it is, and is bounded by the values of a body';
const equal = 'a list of other entries alone, which are not told from the document';
/** Writes whose long lists no mending makes valid, each with the reason. */
const unsent: Readonly<Record<string, string>> = {
  'chat.completions': toModels,
  'messages.create': toModels,
  'messages.countTokens': toModels,
  'responses.create': toModels,
  'embeddings.create': toModels,
  'hosts.exec': 'its map is of variables, whose names have a form of their own',
  'prompts.verifyAll': equal,
  'transcripts.ask': equal,
  'transcripts.setVocabulary': equal,
  'me.reauth': 'its proof is an object of the browser, without a list',
  'schedules.update': 'a spec goes by its kind, which stands elsewhere; schedules.create sends the same fields',
};
/** A body that is refused is mended so often. */
const mostTries = 12;

/** Operations that take JSON and write. */
const writingIds = exampleIds(false).filter((id) => routeOf(id).takes instanceof Json);

/** Whether a value has a list or a map of more than a few entries. */
const hasMany = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.values(value).length > few || Object.values(value).some((one) => hasMany(one)));
/** No body has as many fields of its own. */
const few = 30;

interface Sent {
  status: number;
  /** What was taken in the end still has a long list or map. */
  isDear: boolean;
  statements: number;
  atOnce: number;
  bytes: number;
}

/** Sends a write with the dearest body that it takes; counts what it asks the database. */
async function sendDearest(world: World, document: Document, id: string): Promise<Sent | undefined> {
  await using scene = new Scene(world.helper, await createAccount(world.helper), world.around.makers);
  const route = routeOf(id);
  const request = await prepareExample(scene, id, preparations[id]);
  if (route.only === 'login') await scene.login();
  let body = dearestBody(document, id, request.body);
  if (!hasMany(body)) return undefined;
  for (let tries = 1; ; tries++) {
    const count = { statements: 0, waiting: 0, atOnce: 0 };
    world.proxy.decide = ({ application, answered }) => {
      if (application !== 'svc requests') return 'pass';
      count.statements += 1;
      count.waiting += 1;
      count.atOnce = Math.max(count.atOnce, count.waiting);
      void answered.then(() => (count.waiting -= 1));
      return 'pass';
    };
    const dear = { ...request, body } as ExampleRequest;
    const answer = await sendRequest(scene, route, dear, { url: world.victim.url });
    const text = await answer.text();
    world.proxy.decide = () => 'pass';
    assert.ok(answer.status < 500, `${id}: ${answer.status} ${text.slice(0, 300)}`);
    const sent = {
      status: answer.status,
      isDear: hasMany(body),
      statements: count.statements,
      atOnce: count.atOnce,
      bytes: JSON.stringify(body ?? '').length,
    };
    if (answer.status < 400 || tries === mostTries) return sent;
    body = withLess(body, request.body, refusedOf(text));
  }
}

describe('the dearest body that a write takes', () => {
  test('asks the database 32 things at most, and 16 at once: no statement for each entry', async () => {
    await using world = await openWorld();
    const document = (await (await fetch(`${world.helper.url}/openapi.json`)).json()) as Document;
    const over: object[] = [];
    const refused: string[] = [];
    let sent = 0;
    for (const id of writingIds) {
      const done = await sendDearest(world, document, id);
      if (!done) continue;
      sent += 1;
      if ((done.status >= 400 || !done.isDear) && unsent[id] === undefined) refused.push(`${id}: ${done.status}`);
      const hasTooMany = done.statements > mostStatements && borne[id] === undefined;
      if (hasTooMany || done.atOnce > mostAtOnce) over.push({ id, ...done });
    }
    assert.ok(sent > 20, String(sent));
    assert.deepEqual(over, []);
    assert.deepEqual(refused, []);
  });
});
