import { inputOf } from './chat.calls.ts';
import { readCitations, writeAnnotations } from './chat.citations.ts';
import { thoughtsIn, writeCall, writeThinking } from './chat.request.ts';
import { CallIds, idAs } from './ids.ts';
import { type Block, type Finish, isCut, noUsage, type Reply, type Usage } from './model.ts';
import { Details, returnedOf, Sealer, signedExtra } from './sealed.ts';
import { countOf, defined, isObject, objectOf, objectsOf, textOf, type Value } from './values.ts';

const finishes = new Map<string | undefined, Finish>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'calls'],
  ['function_call', 'calls'],
  ['content_filter', 'refusal'],
]);
/** Why an answer ended, as chat completions say it. */
export const finishNames: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
  refusal: 'content_filter',
};

/** Why an answer ended. With a call that was forced, OpenAI says `stop`; others say so with any call. */
export function finishOf(reason: string | undefined, hasCalls: boolean): Finish {
  const finish = finishes.get(reason) ?? 'stop';
  return finish === 'stop' && hasCalls ? 'calls' : finish;
}

/** Whether an answer ended in the middle: its last call may be the begin of one. */
export const isCutBy = (reason: string | undefined): boolean => isCut(finishOf(reason, false));

/** Usage as chat completions and embeddings tell it; undefined for none. */
export function readChatUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  return {
    ...noUsage,
    input: countOf(usage['prompt_tokens']),
    output: countOf(usage['completion_tokens']),
    cached: countOf(objectOf(usage['prompt_tokens_details'])['cached_tokens']),
    reasoning: countOf(objectOf(usage['completion_tokens_details'])['reasoning_tokens']),
  };
}

/** Usage as chat completions tell it. */
export const writeChatUsage = (usage: Usage): Value => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cached },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
});

/** The names by which servers tell a model's thinking. */
const thoughtFields = ['reasoning_content', 'reasoning'] as const;
/** The one of them that a message has. */
export const thoughtField = (message: Value) => thoughtFields.find((name) => textOf(message[name]));
/** What a message tells of its model's thinking. */
export const thoughtOf = (message: Value): string => textOf(message[thoughtField(message) ?? '']) ?? '';

/** Reads a whole answer of chat completions. */
export function readChatReply(body: Value): Reply {
  const [choice = {}] = objectsOf(body['choices']);
  const message = objectOf(choice['message']);
  const blocks: Block[] = [];
  const sealer = new Sealer();
  sealer.model = textOf(body['model']) ?? '';
  const signed = objectsOf(message['thinking_blocks']);
  for (const one of signed) {
    if (one['type'] === 'redacted_thinking') blocks.push({ type: 'redacted', data: textOf(one['data']) ?? '' });
    else {
      const signature = textOf(one['signature']);
      blocks.push({ type: 'thinking', text: textOf(one['thinking']) ?? '', ...defined({ signature }) });
    }
  }
  const thought = thoughtOf(message);
  if (signed.length === 0) blocks.push(...readThought(message, thought, sealer));
  const text = textOf(message['content']) ?? '';
  const citations = readCitations(message['annotations']);
  if (text !== '') blocks.push({ type: 'text', text, ...(citations.length > 0 && { citations }) });
  const refusal = textOf(message['refusal']) ?? '';
  if (refusal !== '') blocks.push({ type: 'refusal', text: refusal });
  const ids = new CallIds(textOf(body['id']));
  const reason = textOf(choice['finish_reason']);
  const calls = objectsOf(message['tool_calls']);
  for (const call of calls) {
    const { name, arguments: input } = objectOf(call['function']);
    if (isCutBy(reason) && call === calls.at(-1) && inputOf(input) === '') continue;
    const id = ids.unique(textOf(call['id']));
    const extra = signedExtra(call['extra_content']);
    const signature = extra && sealer.seal({ call: id, extra });
    if (signature !== undefined) blocks.push({ type: 'thinking', text: '', signature });
    blocks.push({ type: 'call', id, name: textOf(name) ?? '', input: inputOf(input) || '{}' });
  }
  const hasCalls = blocks.some(({ type }) => type === 'call');
  const finish = finishOf(reason, hasCalls);
  const usage = readChatUsage(body['usage']);
  return { id: textOf(body['id']) ?? '', model: textOf(body['model']) ?? '', blocks, finish, ...(usage && { usage }) };
}

/** What was thought, with what its model wants back of it. */
function readThought(message: Value, text: string, sealer: Sealer): Block[] {
  const extra = signedExtra(message['extra_content']);
  const field = thoughtField(message);
  const joining = new Details();
  joining.push(objectsOf(message['reasoning_details']));
  const details = joining.take();
  if (!extra && text === '' && !details) return [];
  const signature = sealer.seal({ ...(extra && { extra }), ...(details ? { details } : defined({ field })) });
  return [{ type: 'thinking', text, ...defined({ signature }) }];
}

/** Writes a whole answer of chat completions. `created` is in seconds. */
export function writeChatReply({ id, model, blocks, finish, usage, extra }: Reply, created: number): Value {
  const text = joined(blocks, 'text');
  const refusal = joined(blocks, 'refusal');
  const calls = blocks.filter((block) => block.type === 'call');
  const annotations = writeAnnotations(blocks);
  const returned = returnedOf(thoughtsIn(blocks), undefined);
  const message = {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(annotations.length > 0 && { annotations }),
    ...writeThinking(blocks),
    ...returned.fields,
    ...(calls.length > 0 && { tool_calls: calls.map((call) => writeCall(call, returned)) }),
    ...extra,
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishNames[finish] }];
  return {
    id: idAs('chat', id),
    object: 'chat.completion',
    created,
    model,
    choices,
    ...(usage && { usage: writeChatUsage(usage) }),
  };
}

const joined = (blocks: readonly Block[], type: 'text' | 'refusal'): string =>
  blocks.map((block) => (block.type === type ? block.text : '')).join('');
