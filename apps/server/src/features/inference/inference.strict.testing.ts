import { frameOf, isObject, objectOf, objectsOf, type Protocol, textOf, type Value } from '@svc/inference';
import { pathOf, replies, type Script, streams } from './inference.testing.ts';

/** A first answer of a maker, in its own protocol: the frames of its stream, and the whole. */
export interface Spoken {
  protocol: Protocol;
  stream: readonly string[];
  whole: object;
}

const idsIn = { chat: 'chatcmpl-1', messages: 'msg_1', responses: 'resp_1' } as const;
const usageOf = (protocol: Protocol): Value =>
  protocol === 'chat'
    ? { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 }
    : { input_tokens: 9, output_tokens: 5 };

/** A whole message of chat completions, and the stream of these deltas. */
export function spokenChat(deltas: readonly Value[], message: Value, model: string, finish = 'tool_calls'): Spoken {
  const head = { id: idsIn.chat, created: 1, model };
  const chunk = (delta: Value, reason: string | null = null): string =>
    frameOf({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] });
  const usage = usageOf('chat');
  const choices = [
    { index: 0, message: { role: 'assistant', content: null, refusal: null, ...message }, finish_reason: finish },
  ];
  return {
    protocol: 'chat',
    stream: [...deltas.map((delta) => chunk(delta)), chunk({}, finish), frameOf('[DONE]')],
    whole: { ...head, object: 'chat.completion', choices, usage },
  };
}

/** Blocks of messages, and the steps of their stream. */
export function spokenMessages(steps: readonly Value[], content: readonly Value[], stop = 'tool_use'): Spoken {
  const usage = usageOf('messages');
  const head = { id: idsIn.messages, type: 'message', role: 'assistant', model: 'm', stop_sequence: null, usage };
  const frames = [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
    ...(steps as readonly (Value & { type: string })[]),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
  return {
    protocol: 'messages',
    stream: frames.map((one) => frameOf(one, one.type)),
    whole: { ...head, content, stop_reason: stop },
  };
}

/** Items of responses, and the steps of their stream. */
export function spokenResponses(steps: readonly Value[], output: readonly Value[]): Spoken {
  const head = {
    id: idsIn.responses,
    object: 'response',
    created_at: 1,
    model: 'm',
    error: null,
    parallel_tool_calls: true,
    tools: [],
  };
  const whole = { ...head, status: 'completed', output, usage: usageOf('responses') };
  const frames = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
    ...(steps as readonly (Value & { type: string })[]),
    { type: 'response.completed', response: whole },
  ];
  return {
    protocol: 'responses',
    stream: frames.map((one, at) => frameOf({ ...one, sequence_number: at }, one.type)),
    whole,
  };
}

const told = 'It is warm.';
const text = (fields: Value): Value => ({ type: 'text', ...fields });
const item = {
  id: 'msg_9',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: told, annotations: [] }],
};
const place = { item_id: 'msg_9', output_index: 0, content_index: 0 };
const lastWords: Readonly<Record<Protocol, Spoken>> = {
  chat: spokenChat([{ role: 'assistant', content: told }], { content: told }, 'm', 'stop'),
  messages: spokenMessages(
    [
      { type: 'content_block_start', index: 0, content_block: text({ text: '' }) },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: told } },
      { type: 'content_block_stop', index: 0 },
    ],
    [text({ text: told })],
    'end_turn',
  ),
  responses: spokenResponses(
    [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '', annotations: [] } },
      { type: 'response.output_text.delta', ...place, delta: told, logprobs: [] },
      { type: 'response.output_item.done', output_index: 0, item },
    ],
    [item],
  ),
};

/** The calls of a history and the results after them, as pairs of an id and what it says. */
interface Told {
  calls: [id: unknown, name: unknown, input: unknown][];
  results: [id: unknown, text: unknown][];
}

function toldIn(protocol: Protocol, body: Value): Told {
  if (protocol === 'responses') {
    const input = objectsOf(body['input']);
    return {
      calls: input.flatMap((one) =>
        one['type'] === 'function_call' ? [[one['call_id'], one['name'], one['arguments']]] : [],
      ),
      results: input.flatMap((one) =>
        one['type'] === 'function_call_output' ? [[one['call_id'], one['output']]] : [],
      ),
    };
  }
  const messages = objectsOf(body['messages']);
  if (protocol === 'chat') {
    return {
      calls: messages
        .flatMap((one) => objectsOf(one['tool_calls']))
        .map(({ id, function: said }) => [id, objectOf(said)['name'], objectOf(said)['arguments']]),
      results: messages.flatMap((one) => (one['role'] === 'tool' ? [[one['tool_call_id'], one['content']]] : [])),
    };
  }
  const blocks = messages.flatMap(({ content }) => objectsOf(content));
  return {
    calls: blocks.flatMap((one) =>
      one['type'] === 'tool_use' ? [[one['id'], one['name'], JSON.stringify(one['input'])]] : [],
    ),
    results: blocks.flatMap((one) => {
      if (one['type'] !== 'tool_result') return [];
      const { content } = one;
      return [[one['tool_use_id'], typeof content === 'string' ? content : objectsOf(content)[0]?.['text']]];
    }),
  };
}

/** Ids as each maker takes them back. */
const takenIds: Readonly<Record<Protocol, RegExp>> = {
  chat: /^.{1,2000}$/s,
  messages: /^[a-zA-Z0-9_-]{1,2000}$/,
  responses: /^.{1,64}$/s,
};

/** What a maker refuses of a history: undefined for nothing. */
function faultOf(protocol: Protocol, body: Value, model: string): string | undefined {
  const { calls, results } = toldIn(protocol, body);
  const of = new Map(results);
  for (const [id, name, input] of calls) {
    if (typeof id !== 'string' || !takenIds[protocol].test(id)) return `${String(id)} is no id of a call`;
    if (typeof input !== 'string') return `the input of ${id} is no text`;
    const given = parsed(input);
    if (!isObject(given)) return `the input of ${id} is no object: ${input.slice(0, 80)}`;
    if (of.get(id) !== `${String(name)} of ${JSON.stringify(given)}`)
      return `${id} has the result ${String(of.get(id))}`;
  }
  if (new Set(calls.map(([id]) => id)).size < calls.length) return 'two calls have one id';
  if (of.size !== results.length || results.length !== calls.length) return 'not one result for each call';
  return turnFault(protocol, body, model);
}

/** The results of a turn's calls stand right after it, in one go. */
function turnFault(protocol: Protocol, body: Value, model: string): string | undefined {
  const messages = objectsOf(body['messages']);
  const at = messages.findIndex(({ role }) => role === 'assistant');
  if (protocol === 'responses' || at === -1) return undefined;
  if (protocol === 'chat') {
    const calls = objectsOf(messages[at]?.['tool_calls']);
    if (messages.slice(at + 1, at + 1 + calls.length).some(({ role }) => role !== 'tool'))
      return 'a result is elsewhere';
    const extra = JSON.stringify(calls[0]?.['extra_content'] ?? '');
    return model.startsWith('gemini-3') && !extra.includes('thought_signature')
      ? 'a thought_signature is missing'
      : undefined;
  }
  const [first] = objectsOf(messages[at]?.['content']);
  const thinks = objectOf(body['thinking'])['type'] === 'enabled';
  if (thinks && first?.['type'] !== 'thinking') return `Expected thinking, but found ${String(first?.['type'])}`;
  return messages.length === at + 2 ? undefined : 'results are not in one turn';
}

function parsed(said: string): unknown {
  try {
    return JSON.parse(said) as unknown;
  } catch {
    return undefined;
  }
}

/** A maker that calls tools first, and says a last word when it gets their results as its own API wants them. */
export function strictMaker(first: Spoken, alsoFaultOf?: (body: Value) => string | undefined): Script {
  return (response, taken) => {
    const { protocol } = first;
    const { body } = taken;
    if (!taken.path.endsWith(pathOf[protocol]))
      return replies({ error: { message: taken.path } }, 404)(response, taken);
    const isLater = toldIn(protocol, body).calls.length > 0;
    const fault = isLater ? (faultOf(protocol, body, textOf(body['model']) ?? '') ?? alsoFaultOf?.(body)) : undefined;
    if (fault !== undefined) return replies({ error: { message: fault } }, 400)(response, taken);
    const { stream, whole } = isLater ? lastWords[protocol] : first;
    return (body['stream'] === true ? streams(...stream) : replies(whole))(response, taken);
  };
}
