import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, streamText, tool as toolOf } from 'ai';
import OpenAI from 'openai';

/** What an agent did: the calls that it ran, and what its model said when it had their results. */
export interface Round {
  calls: [name: string, input: unknown][];
  text: string;
}

/** Where an agent asks, and how. */
interface Asking {
  url: string;
  key: string;
  model: string;
  stream: boolean;
}

const question = 'What weather?';
const schema = { type: 'object' as const, properties: {} };
const names = ['weather', 'time'] as const;
/** The result of a call says which one it was. */
const resultOf = (name: string, input: unknown): string => `${name} of ${JSON.stringify(input)}`;
const parsed = (text: string): unknown => JSON.parse(text) as unknown;

/** A user of OpenAI's chat completions: the message that came goes back as it is. */
async function runChat({ url, key, model, stream }: Asking, collect = helped): Promise<Round> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters: schema } }));
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const ask = async (): Promise<OpenAI.ChatCompletionMessage> => {
    const request = { model, messages, tools };
    if (stream) return collect(client, request);
    return (await client.chat.completions.create(request)).choices[0]?.message ?? assert.fail();
  };
  const message = await ask();
  messages.push(message);
  const calls = (message.tool_calls ?? []).map((call): Round['calls'][number] => {
    assert.ok(call.type === 'function', 'a call is none of a function');
    const input = parsed(call.function.arguments);
    messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(call.function.name, input) });
    return [call.function.name, input];
  });
  return { calls, text: (await ask()).content ?? '' };
}
type ChatRequest = OpenAI.ChatCompletionCreateParamsNonStreaming;

const helped = async (client: OpenAI, request: ChatRequest): Promise<OpenAI.ChatCompletionMessage> =>
  (await client.chat.completions.stream({ ...request, stream: true }).finalChatCompletion()).choices[0]?.message ??
  assert.fail();

/** As most that use no helper do: by index, and nothing but what the documentation names. */
async function byHand(client: OpenAI, request: ChatRequest): Promise<OpenAI.ChatCompletionMessage> {
  const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = [];
  let content = '';
  for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) {
    const { delta } = choices[0] ?? assert.fail('a chunk without a choice');
    content += delta.content ?? '';
    for (const { index, id = '', function: said } of delta.tool_calls ?? []) {
      const call = (calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
      call.id ||= id;
      call.function.name += said?.name ?? '';
      call.function.arguments += said?.arguments ?? '';
    }
  }
  return { role: 'assistant', content, refusal: null, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** A user of OpenAI's responses, who keeps the history: items that came go back as they are. */
async function runResponses({ url, key, model, stream }: Asking): Promise<Round> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const tools = names.map((name) => ({ type: 'function' as const, name, parameters: schema, strict: false }));
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: question }];
  const ask = (): Promise<OpenAI.Responses.Response> => {
    const include = ['reasoning.encrypted_content' as const];
    const request = { model, input, tools, store: false, include, reasoning: { effort: 'low' as const } };
    return stream
      ? client.responses.stream({ ...request, stream: true }).finalResponse()
      : client.responses.create(request);
  };
  const { output } = await ask();
  input.push(...(output as OpenAI.Responses.ResponseInput));
  const calls = output.flatMap((item): Round['calls'] => {
    if (item.type !== 'function_call') return [];
    const given = parsed(item.arguments);
    input.push({ type: 'function_call_output', call_id: item.call_id, output: resultOf(item.name, given) });
    return [[item.name, given]];
  });
  return { calls, text: (await ask()).output_text };
}

/** A user of Anthropic's messages. */
async function runMessages({ url, key, model, stream }: Asking): Promise<Round> {
  const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }];
  const ask = (): Promise<Anthropic.Message> => {
    const tools = names.map((name) => ({ name, input_schema: schema }));
    const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
    const request = { model, messages, tools, max_tokens: 4_000, thinking };
    return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
  };
  const { content } = await ask();
  const uses = content.filter((block) => block.type === 'tool_use');
  const results = uses.map(({ id, name, input }) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: resultOf(name, input),
  }));
  messages.push({ role: 'assistant', content }, { role: 'user', content: results });
  const said = (await ask()).content;
  return {
    calls: uses.map(({ name, input }) => [name, input]),
    text: said.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  };
}

/** Models of the AI SDK, by the protocol that each speaks. */
const aiModels = {
  chat: (at: { baseURL: string; apiKey: string }, model: string) =>
    createOpenAICompatible({ name: 'svc', ...at })(model),
  messages: (at: { baseURL: string; apiKey: string }, model: string) => createAnthropic(at)(model),
  responses: (at: { baseURL: string; apiKey: string }, model: string) => createOpenAI(at).responses(model),
};

/** An agent of the AI SDK, which runs its tools by itself. */
async function runAi(over: keyof typeof aiModels, { url, key: apiKey, model, stream }: Asking): Promise<Round> {
  const baseURL = `${url}/v1`;
  const calls: Round['calls'] = [];
  const tools = Object.fromEntries(
    names.map((name) => {
      const execute = (input: unknown) => {
        calls.push([name, input]);
        return resultOf(name, input);
      };
      return [name, toolOf({ inputSchema: jsonSchema(schema), execute })];
    }),
  );
  const request = {
    model: aiModels[over]({ baseURL, apiKey }, model),
    prompt: question,
    tools,
    stopWhen: isStepCount(2),
    maxRetries: 0,
    providerOptions: {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } },
      // Nothing is kept at the maker: what was thought goes back with the history.
      openai: { store: false, include: ['reasoning.encrypted_content'], forceReasoning: true, reasoningEffort: 'low' },
    },
  } as Parameters<typeof generateText>[0];
  if (!stream) return { text: (await generateText(request)).text, calls };
  let failure: unknown;
  const result = streamText({ ...request, onError: ({ error }) => void (failure = error) });
  const text = (await Promise.resolve(result.text).catch((error: unknown) => void (failure ??= error))) ?? '';
  // What was cut is text that its user is told of by this alone.
  if (failure !== undefined) throw failure;
  return { text, calls };
}

/** Agents of the makers' own clients, which ask, run the calls that come, and go on with the results. */
export const agents: Readonly<Record<string, (asking: Asking) => Promise<Round>>> = {
  'ai over chat': (asking) => runAi('chat', asking),
  'ai over messages': (asking) => runAi('messages', asking),
  'ai over responses': (asking) => runAi('responses', asking),
  chat: (asking) => runChat(asking),
  'chat by hand': (asking) => runChat(asking, byHand),
  messages: runMessages,
  responses: runResponses,
};
