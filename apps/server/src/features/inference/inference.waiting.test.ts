import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { testClock } from '../../kernel/base/clock.ts';
import { createAccount, http, type TestAccount, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { answers, openModels, pathOf, replies, type Script, speaks } from './inference.testing.ts';

const streamHead = { 'content-type': 'text/event-stream' };

describe('answers that take their time', () => {
  const clock = testClock();
  const { gateway, providers } = shared(() =>
    openModels<'main' | 'spare'>(
      ['main', 'spare'],
      ({ main, spare }) => ({
        lanes: [
          { id: 'chat', kind: 'openai', base_url: `${main}/v1`, models: ['chat-1'] },
          { id: 'messages', kind: 'anthropic', base_url: main, models: ['messages-1'] },
          { id: 'responses', kind: 'responses', base_url: `${main}/v1`, models: ['responses-1'] },
          { id: 'spare', kind: 'openai', base_url: `${spare}/v1`, models: ['chat-1'], priority: 2 },
        ],
      }),
      { clock },
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
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 });
  const anthropic = () => new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
  /** Turns the clock by seconds once the provider has the request. */
  const afterSilence = async (seconds: number): Promise<void> => {
    await until(() => providers.main.taken.length === 1);
    for (let passed = 0; passed < seconds; passed += 1) {
      clock.advance(1_000);
      if (passed % 20 === 0) await new Promise(setImmediate);
    }
  };
  /** Answers only when it is let. */
  const held = () => {
    const gate = Promise.withResolvers<void>();
    const script: Script = async (response, taken) => {
      await gate.promise;
      await speaks(response, taken);
    };
    return { script, go: () => gate.resolve() };
  };
  const asks: Record<string, { streamed: () => Promise<string>; whole: () => Promise<string> }> = {
    chat: {
      streamed: async () => {
        const ask = { model: 'chat-1', messages: [{ role: 'user' as const, content: 'x' }], stream: true as const };
        let text = '';
        for await (const { choices } of await openai().chat.completions.create(ask))
          text += choices[0]?.delta.content ?? '';
        return text;
      },
      whole: async () => {
        const ask = { model: 'chat-1', messages: [{ role: 'user' as const, content: 'x' }] };
        return (await openai().chat.completions.create(ask)).choices[0]?.message.content ?? '';
      },
    },
    messages: {
      streamed: () =>
        anthropic()
          .messages.stream({ model: 'messages-1', max_tokens: 99, messages: [{ role: 'user', content: 'x' }] })
          .finalText(),
      whole: async () => {
        const ask = { model: 'messages-1', max_tokens: 99, messages: [{ role: 'user' as const, content: 'x' }] };
        const { content } = await anthropic().messages.create(ask);
        return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      },
    },
    responses: {
      streamed: async () => {
        let text = '';
        for await (const event of await openai().responses.create({ model: 'responses-1', input: 'x', stream: true }))
          if (event.type === 'response.output_text.delta') text += event.delta;
        return text;
      },
      whole: async () => (await openai().responses.create({ model: 'responses-1', input: 'x' })).output_text,
    },
  };
  for (const [client, ways] of Object.entries(asks)) {
    for (const [how, ask] of Object.entries(ways)) {
      test(`a provider that thinks for five minutes in silence is waited for: ${client}, ${how}`, async () => {
        const { script, go } = held();
        providers.main.script = script;
        const answer = ask();
        await afterSilence(298);
        go();
        assert.equal(await answer, 'Let me see. ☀️');
        assert.equal(providers.spare.taken.length, 0);
      });
    }
  }

  test('a whole answer may take as long as the lane lets it in all, and is cut then', async () => {
    const { script, go } = held();
    providers.main.script = script;
    const answer = http(gateway.url, pathOf.messages, {
      key: account.key,
      body: { model: 'messages-1', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
    });
    await afterSilence(902);
    const { status, body } = await answer;
    assert.equal(status, 502);
    assert.match(body.error.message, /messages: the answer took over 900 s/);
    go();
  });

  for (const [protocol, sign] of [
    ['chat', ': ping\n\n'],
    ['messages', 'event: ping\ndata: {"type":"ping"}\n\n'],
    ['responses', ': ping\n\n'],
  ] as const) {
    test(`while it waits, a client of ${protocol} hears every 15 s that its stream lives; a provider's own pings keep it waiting`, async () => {
      let write = (_text: string): void => {};
      let end = (): void => {};
      providers.main.script = (response, taken) => {
        response.writeHead(200, streamHead).flushHeaders();
        write = (text) => void response.write(text);
        end = () => void response.end(answers[protocol].stream.join(''));
        assert.ok(taken.body['stream']);
      };
      const body = {
        model: `${protocol}-1`,
        stream: true,
        ...(protocol === 'responses' ? { input: 'x' } : { messages: [{ role: 'user', content: 'x' }] }),
        ...(protocol === 'messages' && { max_tokens: 9 }),
      };
      const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
      const pending = fetch(`${gateway.url}${pathOf[protocol]}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      for (let minute = 0; minute < 6; minute++) {
        await afterSilence(60);
        write(': still at work\n\n');
        // It must have come before the clock turns on.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      end();
      const text = await (await pending).text();
      assert.ok(text.split(sign).length - 1 >= 20, text.slice(0, 400));
      assert.ok(text.replaceAll(sign, '').endsWith(answers[protocol].stream.at(-1) ?? assert.fail()));
    });
  }

  test('lanes that fail after the client heard a sign of life are followed by the next one; with none left the stream ends with the error of its protocol', async () => {
    const fail = async () => {
      const gate = Promise.withResolvers<void>();
      providers.main.script = async (response, taken) => {
        await gate.promise;
        await replies({}, 500)(response, taken);
      };
      const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
      const ask = { model: 'chat-1', stream: true, messages: [{ role: 'user', content: 'x' }] };
      const pending = fetch(`${gateway.url}${pathOf.chat}`, { method: 'POST', headers, body: JSON.stringify(ask) });
      await afterSilence(20);
      gate.resolve();
      return (await pending).text();
    };
    assert.match(await fail(), /^: ping\n\n.*Let me .*\[DONE\]/s);
    clock.advance(600_000);
    providers.main.taken.length = 0;
    providers.spare.script = replies({}, 503);
    const text = await fail();
    assert.match(
      text,
      /^: ping\n\ndata: \{"error":\{"message":"every lane of this model failed \(chat: it answered 500; spare: it answered 503\)/,
    );
    assert.doesNotMatch(text, /\[DONE\]/);
  });
});
