import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { answers, openModels, pathOf, replies, type Script, speaks } from './inference.testing.ts';

describe('lanes that are left alone', () => {
  const clock = testClock();
  const log = new PassThrough().setEncoding('utf8');
  let logged = '';
  log.on('data', (chunk: string) => (logged += chunk));
  const { gateway, providers } = shared(() =>
    openModels<'main' | 'spare'>(
      ['main', 'spare'],
      ({ main, spare }) => ({
        lanes: [
          { id: 'main', kind: 'openai', base_url: `${main}/v1`, models: ['m', 'n'] },
          { id: 'spare', kind: 'openai', base_url: `${spare}/v1`, models: ['m', 'n'], priority: 2 },
        ],
      }),
      { clock, log, settings: { SVC_LOG_LEVEL: 'warn' } },
    ),
  );
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
    clock.advance(600_000);
    for (const provider of [providers.main, providers.spare]) {
      provider.taken.length = 0;
      provider.script = speaks;
    }
  });
  const lane = async (model: string, path: string = pathOf.chat, body: object = {}) => {
    const ask = path.endsWith('embeddings') ? { input: 'x' } : { messages: [{ role: 'user', content: 'x' }] };
    const { headers } = await http(gateway.url, path, { key: account.key, body: { model, ...ask, ...body } });
    return headers.get('x-svc-lane');
  };
  const vectors = replies({ model: 'm', data: [{ index: 0, embedding: [1] }] });

  for (const status of [403, 404]) {
    test(`a ${status} for vectors leaves the chats of the same lane as they are, for every account`, async () => {
      providers.main.script = (response, taken) =>
        taken.path === '/v1/embeddings' ? replies({}, status)(response, taken) : speaks(response, taken);
      providers.spare.script = (response, taken) =>
        taken.path === '/v1/embeddings' ? vectors(response, taken) : speaks(response, taken);
      assert.equal(await lane('m', '/v1/embeddings'), 'spare');
      assert.equal(await lane('m'), 'main');
      const { length: before } = providers.main.taken;
      assert.equal(await lane('m', '/v1/embeddings'), 'spare');
      assert.equal(providers.main.taken.length, before, 'this route of this model is left alone');
      assert.equal(await lane('n'), 'main');
    });
  }

  for (const status of [401, 429, 503]) {
    test(`a ${status} leaves all of the lane alone`, async () => {
      providers.main.script = replies({}, status);
      assert.equal(await lane('m'), 'spare');
      providers.main.script = speaks;
      assert.deepEqual([await lane('m'), await lane('n')], ['spare', 'spare']);
    });
  }

  test('a model that broke three of ten streams off is left alone for a minute; each is logged with its trace, and counted', async () => {
    const cuts: Script = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream.slice(0, 5).join(''));
      await new Promise(setImmediate);
      response.destroy();
    };
    const streamed = async () => {
      const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] });
      const answer = await fetch(`${gateway.url}${pathOf.chat}`, {
        method: 'POST',
        headers: { ...headers, 'x-request-id': 'the-cut-one' },
        body,
      });
      await answer.text();
      return answer.headers.get('x-svc-lane');
    };
    const seen = [];
    for (const script of [cuts, speaks, speaks, cuts, speaks, cuts, speaks]) {
      providers.main.script = script;
      seen.push(await streamed());
    }
    assert.deepEqual(seen, ['main', 'main', 'main', 'main', 'main', 'main', 'spare']);
    assert.equal(logged.split('a lane broke its answer off').length - 1, 3);
    assert.match(logged, /the-cut-one/);
    const counted = await gateway.kernel.metrics.registry.getSingleMetricAsString('svc_lane_answers_total');
    assert.match(counted, /lane="main",model="m",outcome="cut"\} 3/);
    clock.advance(61_000);
    assert.equal(await streamed(), 'main');
  });
});
