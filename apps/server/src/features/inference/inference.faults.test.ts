import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { frameOf, objectOf, objectsOf, type Protocol, textOf, type Value } from '@svc/inference';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { agents } from './inference.agents.testing.ts';
import { spokenChat, strictMaker } from './inference.strict.testing.ts';
import { answers, openModels, replies, type Script, speaks, streams } from './inference.testing.ts';

const clock = testClock();
const lanes = ['chat', 'messages', 'responses'] as const;
const opened = () =>
  shared(() =>
    openModels<'main'>(
      ['main'],
      ({ main }) => ({
        lanes: [
          { id: 'chat', kind: 'openai', base_url: `${main}/v1`, models: ['chat', 'qwen3'] },
          {
            id: 'messages',
            kind: 'anthropic',
            base_url: main,
            models: ['messages', 'claude-opus-4-8', 'claude-haiku-4-5'],
          },
          { id: 'responses', kind: 'responses', base_url: `${main}/v1`, models: ['responses'] },
        ],
      }),
      { clock },
    ),
  );

/** An error as a client of any maker throws it. */
interface Thrown {
  message: string;
  status?: number;
  statusCode?: number;
  headers?: Headers;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
}
const answersWith =
  (status: number, body: string, headers: Record<string, string> = {}): Script =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

/** What a maker answers, and what the person at the client reads. */
const refusals: readonly [what: string, script: Script, status: number, message: RegExp, retryAfter?: string][] = [
  [
    'Gemini’s list',
    answersWith(
      400,
      JSON.stringify([{ error: { code: 400, message: 'Function call is missing a thought_signature' } }]),
    ),
    400,
    /missing a thought_signature/,
  ],
  [
    'FastAPI’s list',
    answersWith(422, JSON.stringify({ detail: [{ loc: ['body', 'top_k'], msg: 'too large' }] })),
    422,
    /top_k: too large/,
  ],
  ['plain text', answersWith(400, 'no such thing'), 400, /no such thing/],
  ['too much to do', answersWith(429, '{"error":{"message":"slow"}}', { 'retry-after': '20' }), 502, /429/, '20'],
  ['overloaded', answersWith(529, '{"type":"error","error":{"message":"Overloaded"}}'), 502, /529/, '30'],
  ['a page with a 503', answersWith(503, '<html>nginx</html>'), 502, /it answered 503/],
];

/** What comes where the rest of an answer should. */
const middles: readonly [what: string, of: Protocol, frame: string][] = [
  ['its error', 'chat', frameOf({ error: { message: 'no more', code: 500 } })],
  ['an error in a list', 'chat', frameOf([{ error: { message: 'no more' } }])],
  ['nothing', 'chat', ''],
  ['its error', 'messages', frameOf({ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'error')],
  ['nothing', 'messages', ''],
  ['its error', 'responses', frameOf({ type: 'error', code: 'server_error', message: 'x', param: null }, 'error')],
  [
    'that it failed',
    'responses',
    frameOf(
      {
        type: 'response.failed',
        response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'x' } },
      },
      'response.failed',
    ),
  ],
  ['nothing', 'responses', ''],
];

describe('a real client is told of a maker’s failure', () => {
  const { gateway, account, providers } = opened();
  beforeEach(() => clock.advance(600_000));
  const failureOf = async (agent: string, model: string, stream: boolean): Promise<Thrown> => {
    const run = agents[agent] ?? assert.fail();
    const round = run({ url: gateway.url, key: account.key, model, stream });
    return round.then(
      (answer) => assert.fail(`it was answered: ${JSON.stringify(answer)}`),
      (error: Thrown) => error,
    );
  };

  test('more calls in one answer than any model makes are refused, streamed and whole', async () => {
    const calls = Array.from({ length: 1_025 }, (_, at) => ({
      index: at,
      id: `call_${at}`,
      type: 'function',
      function: { name: 'weather', arguments: '{}' },
    }));
    providers.main.script = strictMaker(spokenChat([{ tool_calls: calls }], { tool_calls: calls }, 'chat'));
    for (const agent of ['chat', 'messages']) {
      for (const stream of [false, true]) {
        clock.advance(600_000);
        const error = await failureOf(agent, 'chat', stream);
        assert.equal(error.status, 502);
        assert.match(error.message, /over 1,024 calls/);
      }
    }
  });

  for (const agent of Object.keys(agents).filter((one) => one !== 'chat by hand')) {
    for (const [what, script, status, message, retryAfter] of refusals) {
      test(`${agent}: ${what}, with its reason, status and when to try again`, async () => {
        providers.main.script = script;
        for (const [at, stream] of [false, true].entries()) {
          clock.advance(600_000);
          const error = await failureOf(agent, lanes[(what.length + at) % 3] ?? 'chat', stream);
          assert.equal(error.status ?? error.statusCode, status);
          assert.match(`${error.message} ${error.responseBody ?? ''}`, message);
          const after = error.headers?.get('retry-after') ?? error.responseHeaders?.['retry-after'];
          assert.equal(after, retryAfter);
        }
      });
    }

    for (const [what, of, frame] of middles) {
      test(`${agent}: ${what} in the middle of a stream of ${of} is an error, not an end`, async () => {
        const { stream } = answers[of];
        const cut = stream.findIndex((one) => one.includes('Let me '));
        providers.main.script = streams(...stream.slice(0, cut + 1), frame);
        const error = await failureOf(agent, of, true);
        assert.ok(error instanceof Error);
      });
    }
  }
});

/** Where instructions stand in what a maker got: as its system text, at their place, or as the user's words. */
function placeIn(body: Value, words: string): string {
  const all = [...objectsOf(body['messages']), ...objectsOf(body['input'])];
  const at = all.findIndex((one) => JSON.stringify(one['content']).includes(words));
  if (at === -1) return JSON.stringify([body['system'], body['instructions']]).includes(words) ? 'prompt' : 'nowhere';
  const role = textOf(all[at]?.['role']);
  if (role !== 'system' && role !== 'developer') return 'user';
  return all.slice(0, at).some((one) => one['role'] === 'user') ? 'place' : 'prompt';
}

describe('instructions that a real client says among its turns', () => {
  const { gateway, account, providers } = opened();
  const words = 'From now on in French.';
  const client = () => ({ apiKey: account.key, maxRetries: 0 });
  const turns = (role: string) => [
    { role: 'user', content: 'Hello' },
    { role, content: words },
  ];
  /** Asks, and answers the header that names what was left out. */
  const asks: Readonly<Record<string, (model: string) => Promise<string | null | undefined>>> = {
    chat: async (model) => {
      const messages = turns('developer') as OpenAI.ChatCompletionMessageParam[];
      const asked = new OpenAI({ baseURL: `${gateway.url}/v1`, ...client() }).chat.completions.create({
        model,
        messages,
      });
      return (await asked.withResponse()).response.headers.get('x-svc-dropped');
    },
    messages: async (model) => {
      const messages = turns('system') as Anthropic.MessageParam[];
      const asked = new Anthropic({ baseURL: gateway.url, ...client() }).messages.create({
        model,
        messages,
        max_tokens: 99,
      });
      return (await asked.withResponse()).response.headers.get('x-svc-dropped');
    },
    responses: async (model) => {
      const input = turns('system') as OpenAI.Responses.ResponseInput;
      const asked = new OpenAI({ baseURL: `${gateway.url}/v1`, ...client() }).responses.create({ model, input });
      return (await asked.withResponse()).response.headers.get('x-svc-dropped');
    },
    ai: async (model) => {
      const over = createOpenAICompatible({ name: 'svc', baseURL: `${gateway.url}/v1`, apiKey: account.key });
      const messages = turns('system') as [];
      const { response } = await generateText({
        model: over(model),
        messages,
        allowSystemInMessages: true,
        maxRetries: 0,
      });
      return response.headers?.['x-svc-dropped'];
    },
  };
  beforeEach(() => void (providers.main.script = speaks));

  for (const [agent, ask] of Object.entries(asks)) {
    for (const model of ['chat', 'qwen3', 'claude-opus-4-8', 'claude-haiku-4-5', 'responses']) {
      test(`of ${agent} stay instructions on ${model}: at their place, or named`, async () => {
        const dropped = await ask(model);
        const place = placeIn(objectOf(providers.main.taken.at(-1)?.body), words);
        // In their own protocol's words bytes go on as they are.
        const joins = model === 'claude-haiku-4-5' || (model === 'qwen3' && agent !== 'chat' && agent !== 'ai');
        assert.equal(place, joins ? 'prompt' : 'place');
        assert.equal(/\.system/.test(dropped ?? ''), joins, dropped ?? 'nothing is named');
      });
    }
  }

  test('and calls of another maker have ids there that its own takes, in the client’s own protocol too', async () => {
    const [short, long] = ['functions.weather:0', 'x'.repeat(45)];
    const use = { type: 'tool_use', id: short, name: 'weather', input: {} };
    const messages = [
      ...turns('system').slice(0, 1),
      { role: 'assistant', content: [use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: short, content: 'warm' }] },
    ] as Anthropic.MessageParam[];
    await new Anthropic({ baseURL: gateway.url, ...client() }).messages.create({
      model: 'claude-opus-4-8',
      messages,
      max_tokens: 99,
    });
    const call = { id: long, type: 'function', function: { name: 'weather', arguments: '{}' } };
    const said = [
      ...turns('user').slice(0, 1),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: long, content: 'warm' },
    ] as OpenAI.ChatCompletionMessageParam[];
    await new OpenAI({ baseURL: `${gateway.url}/v1`, ...client() }).chat.completions.create({
      model: 'chat',
      messages: said,
    });
    for (const { body } of providers.main.taken.slice(-2)) {
      const [, ids] = JSON.stringify(body).split('"assistant"');
      const [first, second, ...rest] = ids?.match(/call_[0-9a-f]{24}/g) ?? [];
      assert.ok(first);
      assert.deepEqual([second, rest], [first, []]);
      assert.doesNotMatch(JSON.stringify(body), /functions\.weather|x{45}/);
    }
  });

  test('are counted as they are asked: a model that takes none among turns has them in its prompt', async () => {
    const thought = { type: 'thinking', thinking: '', signature: 'svc1.e30' };
    const messages = [
      ...turns('system'),
      { role: 'assistant', content: [thought, { type: 'text', text: 'Hi' }] },
      { role: 'user', content: 'x' },
    ] as Anthropic.MessageParam[];
    providers.main.script = replies({ input_tokens: 7 });
    const asked = new Anthropic({ baseURL: gateway.url, ...client() }).messages;
    const { data, response } = await asked.countTokens({ model: 'claude-haiku-4-5', messages }).withResponse();
    assert.deepEqual([data.input_tokens, response.headers.get('x-svc-dropped')], [7, 'messages.system']);
    const taken = objectOf(providers.main.taken.at(-1)?.body);
    assert.equal(placeIn(taken, words), 'prompt');
    assert.doesNotMatch(JSON.stringify(taken), /svc1\./);
  });
});
