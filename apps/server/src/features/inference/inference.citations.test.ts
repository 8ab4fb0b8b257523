import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { frameOf } from '@svc/inference';
import OpenAI from 'openai';
import { answers } from '../../../../../packages/inference/src/fixtures/answers.ts';
import { shared } from '../../testing.shared.ts';
import { openTest } from '../../testing.ts';
import { pathOf, providersFile, replies, streams, TestProvider } from './inference.testing.ts';

const lanes = ['chat', 'messages', 'responses'] as const;
type Lane = (typeof lanes)[number];
const text = 'So it is.';
const url = 'https://example.com/';

/** An answer with citations, as each protocol has it. */
const citing = (lane: Lane) =>
  answers.find(({ protocol, name }) => protocol === lane && name.startsWith('citation')) ?? assert.fail(lane);

/** An answer as a client reads it: its text, and the cited words of each address. */
interface Seen {
  text: string;
  cited: [url: string, words: string][];
}

describe('citations', () => {
  const provider = new TestProvider();
  provider.script = async (response, taken) => {
    const lane = lanes.find((one) => pathOf[one] === taken.path) ?? 'chat';
    const { whole, stream } = citing(lane);
    const frames = stream.map((event) => frameOf(event, typeof event['type'] === 'string' ? event['type'] : undefined));
    const end = lane === 'chat' ? ['data: [DONE]\n\n'] : [];
    await (taken.body['stream'] === true ? streams(...frames, ...end) : replies(whole))(response, taken);
  };
  const { gateway, account } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { url: base } = await opening.use(provider).listen();
    const kinds = { chat: 'openai', messages: 'anthropic', responses: 'responses' };
    const file = opening.use(
      providersFile({
        lanes: lanes.map((id) => ({
          id,
          kind: kinds[id],
          base_url: id === 'messages' ? base : `${base}/v1`,
          models: [{ name: id, as: 'small-1' }],
        })),
      }),
    );
    const t = opening.use(await openTest({ settings: { SVC_PROVIDERS: file.path } }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const openai = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.key, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Is it so?' }];

  const askChat = async (model: string, stream: boolean): Promise<Seen> => {
    let [said, annotations] = ['', [] as OpenAI.ChatCompletionMessage.Annotation[]];
    if (stream) {
      for await (const { choices } of await openai().chat.completions.create({ model, messages, stream })) {
        const delta = choices[0]?.delta as { content?: string; annotations?: typeof annotations } | undefined;
        said += delta?.content ?? '';
        annotations.push(...(delta?.annotations ?? []));
      }
    } else {
      const [choice] = (await openai().chat.completions.create({ model, messages })).choices;
      [said, annotations] = [choice?.message.content ?? '', choice?.message.annotations ?? []];
    }
    const cited = annotations.map(({ url_citation: one }): [string, string] => [
      one.url,
      said.slice(one.start_index, one.end_index),
    ]);
    return { text: said, cited };
  };

  const askMessages = async (model: string, stream: boolean): Promise<Seen> => {
    const client = new Anthropic({ baseURL: gateway.url, apiKey: account.key, maxRetries: 0 });
    const request = { model, max_tokens: 500, messages };
    const { content } = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    const blocks = content.filter((block) => block.type === 'text');
    const cited = blocks.flatMap(({ citations, text: whole }) =>
      (citations ?? []).map((one): [string, string] => ['url' in one ? one.url : '', whole]),
    );
    return { text: blocks.map((block) => block.text).join(''), cited };
  };

  const askResponses = async (model: string, stream: boolean): Promise<Seen> => {
    const client = openai();
    const request = { model, input: 'Is it so?' };
    const { output } = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const parts = output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .filter((part) => part.type === 'output_text');
    const cited = parts.flatMap(({ annotations, text: whole }) =>
      annotations.flatMap((one): [string, string][] =>
        one.type === 'url_citation' ? [[one.url, whole.slice(one.start_index, one.end_index)]] : [],
      ),
    );
    return { text: parts.map((part) => part.text).join(''), cited };
  };

  const clients = { chat: askChat, messages: askMessages, responses: askResponses };
  for (const [client, ask] of Object.entries(clients)) {
    for (const lane of lanes) {
      for (const stream of [false, true]) {
        test(`${stream ? 'streamed ' : ''}from a lane of ${lane} reach a client of ${client}, at their words`, async () => {
          const seen = await ask(lane, stream);
          assert.equal(seen.text, text);
          const [first, ...others] = seen.cited;
          // Messages cite a text as a whole; the others say which of its words.
          assert.deepEqual(first, [url, lane === 'messages' || client === 'messages' ? text : 'So it']);
          // Documents without an address have no word but in messages.
          const documents = lane === 'messages' ? 2 : 0;
          assert.equal(others.length, client === 'messages' ? documents : 0);
        });
      }
    }
  }
});
