import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { openModels, pathOf, replies, speaks } from './inference.testing.ts';

describe('answers as the client’s protocol says', () => {
  const { gateway, providers } = shared(() =>
    openModels<'main'>(['main'], ({ main }) => ({
      lanes: [
        { id: 'chat', kind: 'openai', base_url: `${main}/v1`, models: ['chat-1', 'maker/chat-2'] },
        { id: 'messages', kind: 'anthropic', base_url: main, models: ['messages-1'] },
        { id: 'responses', kind: 'responses', base_url: `${main}/v1`, models: ['responses-1'] },
      ],
    })),
  );
  let account: TestAccount;
  beforeEach(async () => {
    account = await createAccount(gateway);
    providers.main.taken.length = 0;
    providers.main.script = speaks;
  });
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 });
  const anthropic = () => new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'x' }];

  for (const model of ['chat-1', 'responses-1']) {
    test(`blocks of a messages stream stand one after the other, though a lane of ${model} mixes its calls`, async () => {
      const ask = { model, max_tokens: 99, messages };
      let open: number | undefined;
      let next = 0;
      for await (const event of await anthropic().messages.create({ ...ask, stream: true })) {
        if (event.type === 'content_block_start') {
          assert.deepEqual([open, event.index], [undefined, next++]);
          open = event.index;
        } else if (event.type === 'content_block_delta') assert.equal(event.index, open);
        else if (event.type === 'content_block_stop') {
          assert.equal(event.index, open);
          open = undefined;
        }
      }
      const { content } = await anthropic().messages.stream(ask).finalMessage();
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [[block.name, block.input]] : []));
      assert.deepEqual(calls, [
        ['weather', { city: 'Iași' }],
        ['time', {}],
      ]);
    });
  }

  test('ids begin as those of the client’s protocol, whatever lane answers', async () => {
    for (const model of ['chat-1', 'messages-1', 'responses-1']) {
      const chat = await openai().chat.completions.create({ model, messages });
      assert.match(chat.id, /^chatcmpl-(?!msg|resp)/);
      const message = await anthropic().messages.create({ model, max_tokens: 9, messages });
      assert.match(message.id, /^msg_(?!chat|resp)/);
      const response = await openai().responses.create({ model, input: 'x' });
      assert.match(response.id, /^resp_(?!chat|msg)/);
      for await (const chunk of await openai().chat.completions.create({ model, messages, stream: true }))
        assert.match(chunk.id, /^chatcmpl-/);
    }
  });

  test('a whole answer of messages has no empty citations: clients that check them take it', async () => {
    const { body } = await http(gateway.url, pathOf.messages, {
      key: account.key,
      body: { model: 'chat-1', max_tokens: 9, messages },
    });
    assert.doesNotMatch(JSON.stringify(body.content), /citations/);
    const provider = createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: account.key });
    assert.equal((await generateText({ model: provider('chat-1'), prompt: 'x' })).text, 'Let me see. ☀️');
  });

  test('a model is found by its name, with a date, and one that the key may not use is not there', async () => {
    for (const name of ['chat-1', 'maker/chat-2']) {
      const { id, created } = await openai().models.retrieve(name);
      assert.deepEqual([id, created > 1_700_000_000], [name, true]);
    }
    assert.equal((await anthropic().models.retrieve('messages-1')).display_name, 'messages-1');
    await assert.rejects(openai().models.retrieve('nothing'), { status: 404 });
    const terms = { name: 'listed', models: ['chat-1'] };
    const { key } = (await http(gateway.url, '/v1/keys', { key: account.key, body: terms })).body;
    assert.equal((await http(gateway.url, '/v1/models/messages-1', { key })).status, 404);
    assert.equal((await http(gateway.url, '/v1/models/chat-1', { key })).status, 200);
  });

  test('tokens are counted by a lane that does, and guessed where none does', async () => {
    providers.main.script = (response, taken) =>
      taken.path === '/v1/messages/count_tokens'
        ? replies({ input_tokens: 77 })(response, taken)
        : speaks(response, taken);
    const count = async (model: string) => {
      const { data, response } = await anthropic().messages.countTokens({ model, messages }).withResponse();
      return [data.input_tokens, response.headers.get('x-svc-estimated')];
    };
    assert.deepEqual(await count('messages-1'), [77, null]);
    const [guess, isGuess] = await count('chat-1');
    assert.deepEqual([Number(guess) > 5, isGuess], [true, 'true']);
    providers.main.script = replies({ error: { message: 'no such route' } }, 404);
    assert.equal((await count('messages-1'))[1], 'true');
  });

  test('a tool of ours may have a name, and a key that may not use it hears that first', async () => {
    const body = { model: 'chat-1', max_tokens: 9, messages };
    const { key } = (
      await http(gateway.url, '/v1/keys', { key: account.key, body: { name: 'weak', tool_level: 'l0' } })
    ).body;
    for (const path of [pathOf.chat, pathOf.messages]) {
      for (const tool of [
        { type: 'svc_sandbox', nonsense: true },
        { type: 'exec_python', name: 'python' },
      ]) {
        const { status } = await http(gateway.url, path, { key, body: { ...body, tools: [tool] } });
        assert.equal(status, 403, `${path} ${tool.type}`);
      }
    }
    const { status } = await http(gateway.url, pathOf.messages, {
      key: account.key,
      body: { ...body, tools: [{ type: 'exec_python', name: 'python', nonsense: true }] },
    });
    assert.equal(status, 400);
    const named = await http(gateway.url, pathOf.messages, {
      key: account.key,
      body: { ...body, tools: [{ type: 'exec_python', name: 'python' }] },
    });
    assert.notEqual(named.status, 400, JSON.stringify(named.body));
  });
});
