import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { openModels, pathOf, replies, type Script, speaks } from './inference.testing.ts';

/** The fault that Anthropic's newer or older models find in a request. */
function faultOf(body: Record<string, unknown>): string | undefined {
  const model = String(body['model']);
  const thinking = (body['thinking'] ?? {}) as { type?: string; budget_tokens?: number };
  const choice = (body['tool_choice'] ?? {}) as { type?: string };
  const isForced = choice.type === 'any' || choice.type === 'tool';
  const isNew = /opus-5|opus-4-8|sonnet-5/.test(model);
  const isAlways = model === 'claude-opus-5-5';
  if (isNew && thinking.type === 'enabled') return '"thinking.type.enabled" is not supported for this model';
  if (isAlways && thinking.type === 'disabled') return 'thinking cannot be disabled';
  for (const name of ['temperature', 'top_p', 'top_k'])
    if (name in body && (isNew || thinking.type === 'enabled')) return `${name} is not supported`;
  if (isForced && (isAlways || thinking.type === 'enabled' || thinking.type === 'adaptive'))
    return 'thinking may not be enabled when tool_choice forces tool use';
  if (thinking.type === 'enabled' && Number(body['max_tokens']) - Number(thinking.budget_tokens) < 500)
    return 'max_tokens leaves no room for the answer';
  return undefined;
}

/** The fault that OpenAI's reasoning models find in a request, or a server that knows only the older name of the limit. */
function chatFaultOf(body: Record<string, unknown>): string | undefined {
  if (body['model'] === 'llama3.2') return 'max_completion_tokens' in body ? 'the limit is ignored' : undefined;
  const refused = ['temperature', 'top_p', 'top_k', 'stop', 'max_tokens'].find((name) => name in body);
  return refused && `Unsupported parameter: '${refused}'`;
}

describe('dialects', () => {
  const anthropicModels = [
    'claude-opus-5-5',
    'claude-opus-5',
    'claude-opus-4-8',
    'claude-sonnet-4-5',
    'claude-3-7-sonnet',
  ];
  const { gateway, providers } = shared(() =>
    openModels<'main' | 'spare'>(['main', 'spare'], ({ main, spare }) => ({
      lanes: [
        { id: 'messages', kind: 'anthropic', base_url: main, models: [...anthropicModels, 'both', 'thinks-not'] },
        { id: 'chat', kind: 'openai', base_url: `${main}/v1`, models: ['gpt-5-mini', 'llama3.2'] },
        { id: 'responses', kind: 'responses', base_url: `${main}/v1`, models: ['gpt-5.1'] },
        { id: 'spare', kind: 'openai', base_url: `${spare}/v1`, models: ['both'], priority: 2 },
        {
          id: 'told',
          kind: 'anthropic',
          base_url: main,
          models: ['own-1', 'own-2'],
          dialect: { sampling: false },
          dialects: { 'own-2': { thinking: 'none', sampling: true } },
        },
      ],
    })),
  );
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
    for (const provider of [providers.main, providers.spare]) {
      provider.taken.length = 0;
      provider.script = strict;
    }
  });
  const strict: Script = (response, taken) => {
    const fault = taken.path === pathOf.messages ? faultOf(taken.body) : chatFaultOf(taken.body);
    return fault === undefined
      ? speaks(response, taken)
      : replies({ error: { type: 'invalid_request_error', message: fault } }, 400)(response, taken);
  };
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 });
  const sent = () => providers.main.taken.at(-1)?.body ?? assert.fail();
  const weather = { name: 'weather', parameters: { type: 'object' } };

  for (const model of anthropicModels) {
    test(`clients of chat and responses ask ${model} with reasoning, sampling and forced tools, and are answered`, async () => {
      const messages = [{ role: 'user' as const, content: 'x' }];
      const tools = [{ type: 'function' as const, function: weather }];
      const chat = { model, messages, reasoning_effort: 'high' as const, temperature: 0.3, top_p: 0.9 };
      const { data, response } = await openai()
        .chat.completions.create({ ...chat, max_completion_tokens: 600 })
        .withResponse();
      assert.equal(data.choices[0]?.message.content, 'Let me see. ☀️');
      assert.match(response.headers.get('x-svc-dropped') ?? '', /temperature|top_p/);
      assert.equal(sent()['max_tokens'], 600 + 16_384, 'what was asked, and thinking on top');
      await openai().chat.completions.create({ ...chat, tools, tool_choice: 'required' });
      for await (const _ of await openai().chat.completions.create({ ...chat, stream: true }));
      const answer = await openai().responses.create({
        model,
        input: 'x',
        reasoning: { effort: 'low' },
        temperature: 0.3,
        max_output_tokens: 700,
      });
      assert.equal(answer.output_text, 'Let me see. ☀️');
      const provider = createOpenAICompatible({ name: 'svc', baseURL: `${gateway.url}/v1`, apiKey: account.key });
      const { text } = await generateText({
        model: provider(model),
        prompt: 'x',
        temperature: 0.2,
        providerOptions: { svc: { reasoningEffort: 'medium' } },
      });
      assert.equal(text, 'Let me see. ☀️');
    });
  }

  test('how hard a model thinks is told in its own form', async () => {
    const ask = async (model: string, effort: 'none' | 'minimal' | 'medium') => {
      await openai().chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'x' }],
        reasoning_effort: effort,
      });
      const { thinking, output_config: config } = sent();
      return [thinking, config];
    };
    assert.deepEqual(await ask('claude-sonnet-4-5', 'medium'), [{ type: 'enabled', budget_tokens: 4_096 }, undefined]);
    assert.deepEqual(await ask('claude-opus-4-8', 'medium'), [{ type: 'adaptive' }, { effort: 'medium' }]);
    assert.deepEqual(await ask('claude-opus-4-8', 'minimal'), [{ type: 'adaptive' }, { effort: 'low' }]);
    assert.deepEqual(await ask('claude-opus-4-8', 'none'), [undefined, undefined]);
    assert.deepEqual(await ask('claude-opus-5', 'none'), [{ type: 'disabled' }, undefined]);
    assert.deepEqual(await ask('claude-opus-5-5', 'medium'), [undefined, { effort: 'medium' }]);
    assert.deepEqual(await ask('claude-opus-5-5', 'none'), [undefined, undefined]);
  });

  test('clients of messages ask models of OpenAI that reason, and servers that know the older name of the limit', async () => {
    const client = new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
    const ask = { max_tokens: 500, messages: [{ role: 'user' as const, content: 'x' }], temperature: 0.5 };
    const { response } = await client.messages
      .create({ ...ask, model: 'gpt-5-mini', stop_sequences: ['END'] })
      .withResponse();
    assert.equal(response.headers.get('x-svc-dropped'), 'temperature, stop_sequences');
    assert.equal(sent()['max_completion_tokens'], 500);
    await client.messages.create({ ...ask, model: 'llama3.2' });
    assert.deepEqual([sent()['max_tokens'], sent()['temperature']], [500, 0.5]);
    const provider = createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: account.key });
    const { text } = await generateText({ model: provider('gpt-5.1'), prompt: 'x', temperature: 0.4, topK: 3 });
    assert.equal(text, 'Let me see. ☀️');
  });

  test('fields that no other protocol says are named to the client, and what cannot be left out is refused before it is sent', async () => {
    const ask = { model: 'claude-opus-5', messages: [{ role: 'user', content: 'x' }] };
    const dropped = async (fields: object) => {
      const { status, headers } = await http(gateway.url, pathOf.chat, {
        key: account.key,
        body: { ...ask, ...fields },
      });
      return [status, headers.get('x-svc-dropped')];
    };
    assert.deepEqual(await dropped({ metadata: { a: 'b' }, user: 'u', stop: ['x'] }), [200, null]);
    const more = { seed: 7, frequency_penalty: 0.5, presence_penalty: 0, made_up: 1 };
    assert.deepEqual(await dropped(more), [200, 'frequency_penalty, made_up, seed']);
    assert.deepEqual(await dropped({ 'a\r\nb': 1 }), [200, 'a__b']);
    providers.main.taken.length = 0;
    for (const field of ['logprobs', 'logit_bias', 'functions'])
      assert.deepEqual(await dropped({ [field]: field === 'logprobs' ? true : [{}] }), [400, null], field);
    assert.equal(providers.main.taken.length, 0);
  });

  test('a request that a provider finds wrong in our words goes to the next lane; with none left its client hears why', async () => {
    const ask = (model: string) =>
      http(gateway.url, pathOf.responses, { key: account.key, body: { model, input: 'x' } });
    providers.main.script = replies({ error: { message: 'no such field' } }, 400);
    const { status, headers } = await ask('both');
    assert.deepEqual([status, headers.get('x-svc-lane')], [200, 'spare']);
    const alone = await ask('claude-opus-5');
    assert.deepEqual([alone.status, alone.body.error.message], [400, 'no such field']);
    const same = await http(gateway.url, pathOf.messages, {
      key: account.key,
      body: { model: 'both', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
    });
    assert.equal(same.status, 400, 'in its own words the fault is its own');
  });

  test('the file says what models take whose names do not', async () => {
    const ask = async (model: string) => {
      const body = { model, messages: [{ role: 'user', content: 'x' }], temperature: 0.5, reasoning_effort: 'low' };
      await http(gateway.url, pathOf.chat, { key: account.key, body });
      return ['temperature' in sent(), 'thinking' in sent()];
    };
    assert.deepEqual(await ask('own-1'), [false, true]);
    assert.deepEqual(await ask('own-2'), [true, false]);
  });
});
