import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { SvcError } from '@svc/sdk';
import { en } from '../src/words/en.ts';
import { ro } from '../src/words/ro.ts';

const document = { cookie: '', querySelector: () => null };
Object.assign(globalThis, { document });

/** Of pages: their types are those of a browser, which are not known here. */
const { api, whenSignedOut } = (await import(`${import.meta.dirname}/../src/api/client.ts`)) as {
  api: { me: { get: () => Promise<unknown> } };
  whenSignedOut: (hear: () => void) => () => void;
};
const { problemOf } = (await import(`${import.meta.dirname}/../src/api/errors.ts`)) as {
  problemOf: (error: unknown, words: unknown) => { detail?: string };
};
// Other files of this process are of no browser.
Reflect.deleteProperty(globalThis, 'document');

describe('requests of the hub', () => {
  const { fetch } = globalThis;
  beforeEach(() => {
    Object.assign(globalThis, { document });
  });
  afterEach(() => {
    globalThis.fetch = fetch;
    Reflect.deleteProperty(globalThis, 'document');
  });

  test('a browser is signed out where the API says so, and not by a 401 of a proxy before it', async () => {
    const ofApi = JSON.stringify({ error: { message: 'no', type: 'authentication_error', code: 'invalid_api_key' } });
    const told: string[] = [];
    for (const body of ['<h1>401 Authorization Required</h1>', 'null', '{"error":"unauthorized"}', ofApi]) {
      globalThis.fetch = () => Promise.resolve(new Response(body, { status: 401 }));
      const stop = whenSignedOut(() => told.push(body));
      await assert.rejects(api.me.get(), { status: 401 });
      stop();
    }
    assert.deepEqual(told, [ofApi]);
  });

  test('a request that another tab’s new cookie crossed is sent once more, with that, and signs nobody out', async () => {
    const refusal = JSON.stringify({ error: { message: 'no', type: 'authentication_error', code: 'invalid_api_key' } });
    const answers = [new Response(refusal, { status: 401 }), new Response('{"account":{}}', { status: 200 })];
    globalThis.fetch = () => Promise.resolve(answers.shift() ?? assert.fail('asked a third time'));
    let isTold = false;
    const stop = whenSignedOut(() => (isTold = true));
    await api.me.get();
    stop();
    assert.deepEqual([answers.length, isTold], [0, false]);
  });

  test('a refusal without words is told by those of its code alone, not in English to whom reads Romanian', () => {
    const message = 'only its owner may do this';
    for (const code of ['forbidden', 'quota_exceeded'] as const) {
      const error = new SvcError({ status: 403, code, message });
      assert.equal(problemOf(error, ro).detail, undefined, code);
      assert.equal(problemOf(error, en).detail, message, code);
    }
    // Of a request that is wrong it is all there is.
    assert.equal(problemOf(new SvcError({ status: 400, code: 'bad_request', message }), ro).detail, message);
  });
});
