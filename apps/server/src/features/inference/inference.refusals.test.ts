import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import Anthropic, { BadRequestError } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import {
  answers,
  openModels,
  pathOf,
  providersFile,
  replies,
  type Script,
  speaks,
  streams,
} from './inference.testing.ts';

describe('what providers refuse', () => {
  const clock = testClock();
  // Its second part begins with its first.
  const key = 'sk-lane-1:sk-lane-1-more';
  const keyFile = providersFile({});
  keyFile.writeText(key);
  after(() => keyFile[Symbol.dispose]());
  const { gateway, providers } = shared(() =>
    openModels<'small' | 'large'>(
      ['small', 'large'],
      ({ small, large }) => ({
        lanes: [
          {
            id: 'small',
            kind: 'openai',
            base_url: `${small}/v1`,
            models: ['m'],
            on_context: 'long',
            on_refusal: 'large/l',
          },
          { id: 'plain', kind: 'openai', base_url: `${small}/v1`, models: ['p', 'vectors'] },
          { id: 'claude', kind: 'anthropic', base_url: small, models: ['c'], api_key_file: keyFile.path },
          { id: 'large', kind: 'openai', base_url: `${large}/v1`, models: ['other', 'l'] },
        ],
        aliases: { long: ['large/l'] },
      }),
      { clock },
    ),
  );
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
    clock.advance(600_000);
    for (const provider of [providers.small, providers.large]) {
      provider.taken.length = 0;
      provider.script = speaks;
    }
  });
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 });
  const ask = { messages: [{ role: 'user' as const, content: 'x' }] };
  const tooLong = {
    error: {
      message: "This model's maximum context length is 8192 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  };
  const asked = async (model: string, stream = false) => {
    const { status, headers } = await http(gateway.url, pathOf.chat, {
      key: account.key,
      body: { ...ask, model, stream },
    });
    return [status, headers.get('x-svc-lane')];
  };

  test('a client finds the provider’s code, type and field where its protocol has them', async () => {
    providers.small.script = replies(tooLong, 400);
    await assert.rejects(
      openai().chat.completions.create({ ...ask, model: 'p' }),
      (error: InstanceType<typeof OpenAI.APIError>) => {
        assert.deepEqual(
          [error.status, error.code, error.param, error.type],
          [400, 'context_length_exceeded', 'messages', 'invalid_request_error'],
        );
        return true;
      },
    );
    providers.small.script = replies(
      { type: 'error', error: { type: 'request_too_large', message: 'prompt is too long' } },
      413,
    );
    const client = new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
    await assert.rejects(client.messages.create({ ...ask, model: 'c', max_tokens: 9 }), (error: BadRequestError) => {
      assert.equal(error.status, 413);
      assert.equal((error.error as { error: { type: string } }).error.type, 'request_too_large');
      return true;
    });
    providers.small.script = replies({ error: { message: 'no', code: 'x'.repeat(9_000), param: 7 } }, 400);
    const { body } = await http(gateway.url, pathOf.chat, { key: account.key, body: { ...ask, model: 'p' } });
    assert.deepEqual([body.error.code.length, 'param' in body.error], [120, false]);
  });

  test('the reason reaches clients of every protocol whatever its shape, without a page and without the lane’s key', async () => {
    const told = async (path: string, model: string, body: string) => {
      providers.small.script = (response) => void response.writeHead(422).end(body);
      const answer = await http(gateway.url, path, {
        key: account.key,
        body: { ...ask, model, max_tokens: 9, input: 'x' },
      });
      return answer.body.error.message as string;
    };
    const detail = JSON.stringify({ detail: [{ loc: ['body', 'top_k'], msg: 'too large', type: 'value_error' }] });
    for (const path of Object.values(pathOf)) {
      for (const model of ['p', 'c']) {
        assert.equal(await told(path, model, detail), 'top_k: too large', `${path} ${model}`);
        assert.equal(await told(path, model, 'no such thing'), 'no such thing');
        assert.match(
          await told(path, model, '<html><body>nginx</body></html>'),
          /provider refused the request with 422/,
        );
      }
    }
    const said = await told(pathOf.messages, 'c', `bad: ${key}; sk-lane-1-more; sk-lane-1; sk-`);
    assert.equal(said, 'bad: ***; ***; ***; sk-');
  });

  test('a reason that comes with the status of a success, or in place of a stream, is told', async () => {
    providers.small.script = replies({ choices: null, base_resp: { status_code: 1008, status_msg: 'no balance' } });
    for (const stream of [false, true]) {
      for (const path of [pathOf.chat, pathOf.messages]) {
        clock.advance(600_000);
        const body = { ...ask, model: 'p', max_tokens: 9, stream };
        const answer = await http(gateway.url, path, { key: account.key, body });
        assert.deepEqual([answer.status, answer.body.error.code], [502, 'upstream_error']);
        assert.match(answer.body.error.message, /plain: its answer is none of its protocol: no balance/);
      }
    }
  });

  for (const stream of [false, true]) {
    test(`a request that is too long for a lane goes where the file says, and no other fault does${stream ? '; streamed' : ''}`, async () => {
      providers.small.script = replies(tooLong, 400);
      assert.deepEqual(await asked('m', stream), [200, 'large']);
      assert.equal(providers.large.taken.at(-1)?.body['model'], 'l');
      assert.deepEqual(await asked('p', stream), [400, null], 'a lane that names none');
      providers.large.script = replies(tooLong, 400);
      assert.deepEqual(await asked('m', stream), [400, null]);
      providers.large.script = speaks;
      providers.large.taken.length = 0;
      providers.small.script = replies({ error: { message: 'temperature: no' } }, 400);
      assert.deepEqual(await asked('m', stream), [400, null]);
      providers.small.script = replies({}, 500);
      assert.deepEqual(await asked('m', stream), [502, null]);
      assert.equal(providers.large.taken.length, 0);
    });
  }

  test('a refusal for its content, or an answer that is one without a word, goes where the file says', async () => {
    providers.small.script = replies({ error: { message: 'filtered', code: 'content_filter' } }, 400);
    assert.deepEqual(await asked('m'), [200, 'large']);
    const [choice] = answers.chat.whole.choices;
    const message = { role: 'assistant', content: null };
    const refused = { ...answers.chat.whole, choices: [{ ...choice, message, finish_reason: 'content_filter' }] };
    providers.small.script = replies(refused);
    assert.deepEqual(await asked('m'), [200, 'large']);
    assert.deepEqual(await asked('p'), [200, 'plain']);
    const chunk = { ...answers.chat.whole, choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] };
    const streamed: Script = streams(`data: ${JSON.stringify(chunk)}\n\n`, 'data: [DONE]\n\n');
    providers.small.script = streamed;
    assert.deepEqual(await asked('m', true), [200, 'large']);
    assert.deepEqual(await asked('p', true), [200, 'plain']);
  });

  test('a lane that names a date is left alone until then, by the provider’s own clock', async () => {
    const date = new Date('2031-01-01T00:00:00Z');
    const until = new Date(date.getTime() + 90_000).toUTCString();
    providers.small.script = replies({}, 429, { date: date.toUTCString(), 'retry-after': until });
    const { status, headers } = await http(gateway.url, pathOf.chat, {
      key: account.key,
      body: { ...ask, model: 'p' },
    });
    assert.deepEqual([status, headers.get('retry-after')], [502, '90']);
  });

  test('vectors of 300,000 numbers are made', async () => {
    const input = Array.from({ length: 150 }, (_, at) => Array.from({ length: 2_000 }, (__, n) => at + n));
    providers.small.script = replies({ object: 'list', model: 'vectors', data: [{ index: 0, embedding: [0.5] }] });
    const { data } = await openai().embeddings.create({ model: 'vectors', input, encoding_format: 'float' });
    assert.deepEqual(data[0]?.embedding, [0.5]);
    const sent = providers.small.taken.at(-1)?.body['input'];
    assert.deepEqual(sent, input);
  });
});
