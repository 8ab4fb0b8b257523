import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import { answers, openModels, pathOf, type Script, streams } from './inference.testing.ts';

/** Micro-USD a token that is read, and that is said. */
const [read, said] = [1, 10];

describe('spend caps', () => {
  const { gateway, second, providers } = shared(() =>
    openModels<'main'>(
      ['main'],
      ({ main }) => {
        const prices = { m: { input: read, output: said, context: 20_000, searches: 10 } };
        const lane = (id: string, kind: string, url: string, name: string) => ({
          id,
          kind,
          base_url: url,
          models: [{ name, as: 'm' }],
          prices,
        });
        return {
          lanes: [
            lane('c', 'openai', `${main}/v1`, 'chat-1'),
            lane('m', 'anthropic', main, 'messages-1'),
            lane('r', 'responses', `${main}/v1`, 'responses-1'),
            { id: 'u', kind: 'openai', base_url: `${main}/v1`, models: ['unpriced-1'] },
            { id: 'f', kind: 'openai', base_url: `${main}/v1`, models: ['free-1'], free: true },
          ],
        };
      },
      { gateways: 2 },
    ),
  );
  let account: TestAccount;
  const provider = () => providers.main;
  beforeEach(async () => {
    account = await createAccount(gateway);
    provider().taken.length = 0;
    provider().script = takesAll;
  });
  const capped = async (cap: number): Promise<string> => {
    const body = { name: 'capped', spend_cap_micro_usd: cap };
    return (await http(gateway.url, '/v1/keys', { key: account.key, body })).body.key;
  };
  const spent = async (): Promise<number> => {
    const [row] = await gateway.kernel.sql<{ spent: number }[]>`
      select coalesce(sum(u.cost_micro_usd), 0)::bigint as spent from kernel.usage_records u
      join keys.keys k on k.id = u.key_id where k.name = 'capped' and k.account_id = ${account.id}`;
    return row?.spent ?? 0;
  };
  const dearest = (): number => Math.max(...provider().taken.map(({ body, raw }) => costOfMost(body, raw.length)));

  const text = { messages: [{ role: 'user', content: 'x'.repeat(400) }] };
  const requests: Record<string, { path: string; body: object }> = {
    'chat without a limit': { path: pathOf.chat, body: { model: 'chat-1', ...text } },
    'chat with max_tokens': { path: pathOf.chat, body: { model: 'chat-1', ...text, max_tokens: 700 } },
    'chat with a limit of zero beside another': {
      path: pathOf.chat,
      body: { model: 'chat-1', ...text, max_completion_tokens: 0, max_tokens: 5_000 },
    },
    'chat with n': { path: pathOf.chat, body: { model: 'chat-1', ...text, n: 100, max_completion_tokens: 50 } },
    'chat with tools of ours': {
      path: pathOf.chat,
      body: { model: 'chat-1', ...text, max_completion_tokens: 300, tools: [{ type: 'exec_python' }] },
    },
    'messages with tools of ours': {
      path: pathOf.messages,
      body: { model: 'chat-1', ...text, max_tokens: 300, tools: [{ type: 'exec_python', name: 'python' }] },
    },
    'chat that thinks on a lane of messages': {
      path: pathOf.chat,
      body: { model: 'messages-1', ...text, reasoning_effort: 'high', max_completion_tokens: 100 },
    },
    'messages that think': {
      path: pathOf.messages,
      body: {
        model: 'messages-1',
        ...text,
        max_tokens: 3_000,
        thinking: { type: 'enabled', budget_tokens: 2_000 },
      },
    },
    'messages with a search of the provider': {
      path: pathOf.messages,
      body: {
        model: 'messages-1',
        ...text,
        max_tokens: 100,
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      },
    },
    'messages with tools of the client': {
      path: pathOf.messages,
      body: { model: 'messages-1', ...text, max_tokens: 300, tools: [{ name: 'a', input_schema: { type: 'object' } }] },
    },
    'responses without a limit': { path: pathOf.responses, body: { model: 'responses-1', input: 'x'.repeat(400) } },
    'responses with a search of the provider': {
      path: pathOf.responses,
      body: { model: 'responses-1', input: 'x', max_output_tokens: 90, tools: [{ type: 'web_search' }] },
    },
    'responses that think': {
      path: pathOf.responses,
      body: { model: 'responses-1', input: 'x', reasoning: { effort: 'high' }, max_output_tokens: 900 },
    },
  };

  for (const [what, { path, body }] of Object.entries(requests)) {
    test(`200 requests at once over two gateways pass a cap by one of them at most, though each takes all it may: ${what}`, async () => {
      const cap = 250_000;
      const key = await capped(cap);
      const statuses = await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const { url } = n % 2 === 0 ? gateway : second;
          return (await http(url, path, { key, body })).status;
        }),
      );
      const cost = await spent();
      assert.deepEqual(new Set(statuses), new Set([200, 429]));
      assert.ok(cost >= cap * 0.2 && cost <= cap + dearest(), `${cost} of ${cap}, one is ${dearest()}`);
    });
  }

  test('a key with a cap sends its limit upstream, by every name that it used; another key sends what its client wrote', async () => {
    const key = await capped(10_000_000);
    const names = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];
    const limits = async (by: string, path: string, body: object) => {
      const { status } = await http(gateway.url, path, { key: by, body });
      assert.equal(status, 200);
      const sent = provider().taken.at(-1)?.body ?? {};
      return Object.fromEntries(names.flatMap((name) => (name in sent ? [[name, sent[name]]] : [])));
    };
    const chat = { model: 'chat-1', ...text };
    const both = { max_completion_tokens: 0, max_tokens: 5_000 };
    assert.deepEqual(await limits(key, pathOf.chat, { ...chat, ...both }), {
      max_completion_tokens: 5_000,
      max_tokens: 5_000,
    });
    assert.deepEqual(await limits(account.key, pathOf.chat, { ...chat, ...both }), both);
    assert.deepEqual(await limits(account.key, pathOf.chat, chat), {});
    assert.equal((await limits(key, pathOf.chat, chat))['max_completion_tokens'], 8_192);
    const response = { model: 'responses-1', input: 'x', tools: [{ type: 'web_search' }] };
    assert.deepEqual(await limits(key, pathOf.responses, response), { max_output_tokens: 8_192 });
    assert.equal(provider().taken.at(-1)?.body['max_tool_calls'], 5);
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    await limits(key, pathOf.messages, { model: 'messages-1', ...text, max_tokens: 9, tools });
    assert.deepEqual(provider().taken.at(-1)?.body['tools'], [{ ...tools[0], max_uses: 5 }]);
  });

  test('turns of an answer with tools of ours have the limit that is reserved for each', async () => {
    provider().script = streams(...answers.chat.stream);
    const limitOf = async (by: string, more: object = {}) => {
      const body = { model: 'chat-1', ...text, tools: [{ type: 'exec_python' }], ...more };
      assert.equal((await http(gateway.url, pathOf.chat, { key: by, body })).status, 200);
      const { max_completion_tokens: newer, max_tokens: older } = provider().taken.at(-1)?.body ?? {};
      return [newer, older];
    };
    const key = await capped(10_000_000);
    assert.deepEqual(await limitOf(key), [8_192, undefined]);
    assert.deepEqual(await limitOf(key, { max_tokens: 70 }), [undefined, 70]);
    assert.deepEqual(await limitOf(account.key), [undefined, undefined]);
  });

  test('a key with a cap may not ask for what has no bound, or twice by one name', async () => {
    const key = await capped(10_000_000);
    const refused = async (path: string, body: object) => {
      const answer = await http(gateway.url, path, { key, body });
      return [answer.status, Object.keys(answer.body.error.details?.fieldErrors ?? {})];
    };
    const message = { model: 'messages-1', ...text, max_tokens: 9 };
    const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
    assert.deepEqual(await refused(pathOf.messages, { ...message, tools }), [400, ['tools']]);
    const servers = [{ type: 'url', url: 'https://example.com' }];
    assert.deepEqual(await refused(pathOf.messages, { ...message, mcp_servers: servers }), [400, ['mcp_servers']]);
    const chat = { model: 'chat-1', ...text };
    assert.deepEqual(await refused(pathOf.chat, { ...chat, service_tier: 'priority' }), [400, ['service_tier']]);
    const raw = `{"model":"chat-1","max_tokens":1,"messages":[{"role":"user","content":"x"}],"max_tokens":9000000}`;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const twice = await fetch(`${gateway.url}${pathOf.chat}`, { method: 'POST', headers, body: raw });
    assert.equal(twice.status, 400);
    assert.equal(provider().taken.length, 0);
  });

  test('a key with a cap is refused a model without a price, unless its lane is free; the lanes say which have none', async () => {
    const key = await capped(1);
    const asked = async (by: string, model: string) =>
      (await http(gateway.url, pathOf.chat, { key: by, body: { model, ...text } })).status;
    assert.deepEqual([await asked(key, 'unpriced-1'), provider().taken.length], [403, 0]);
    assert.equal(await asked(account.key, 'unpriced-1'), 200);
    assert.equal(await asked(key, 'free-1'), 200);
  });

  /** Takes every token that the request lets it take, of what it reads and says. */
  const takesAll: Script = (response, taken) => {
    const { path, body, raw } = taken;
    const { input, output, uses } = mostOf(body, raw.length);
    const usage = { input_tokens: input, output_tokens: output, server_tool_use: { web_search_requests: uses } };
    if (body['stream'] === true) {
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      return streams(...spoken(usage))(response, taken);
    }
    const searches = Array.from({ length: uses }, () => ({ type: 'web_search_call' }));
    const whole =
      path === pathOf.chat
        ? { ...answers.chat.whole, usage: { prompt_tokens: input, completion_tokens: output } }
        : path === pathOf.messages
          ? { ...answers.messages.whole, usage }
          : { ...answers.responses.whole, output: [...answers.responses.whole.output, ...searches], usage };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
  };
});

/** A streamed word of a lane of chat, and what it cost. */
const spoken = (usage: object): string[] =>
  [
    { choices: [{ index: 0, delta: { role: 'assistant', content: 'Yes.' }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ].map((chunk) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...chunk })}\n\n`);

/** The most that a request lets its provider use: as many tokens as it has bytes, and all that a search may bring. */
function mostOf(body: Record<string, unknown>, bytes: number) {
  const limits = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'].map((name) => Number(body[name] ?? 0));
  const tools = (body['tools'] ?? []) as { max_uses?: number }[];
  const uses = Number(body['max_tool_calls'] ?? 0) + tools.reduce((sum, { max_uses: most = 0 }) => sum + most, 0);
  const input = uses > 0 ? 20_000 * (uses + 1) : bytes;
  return { input, output: Math.max(...limits) * Number(body['n'] ?? 1), uses };
}

function costOfMost(body: Record<string, unknown>, bytes: number): number {
  const { input, output, uses } = mostOf(body, bytes);
  return input * read + output * said + uses * 10_000;
}
