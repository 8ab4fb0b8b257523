import { CallFragments, inputOf, thoughtOnly } from './chat.calls.ts';
import { readCitations, writeAnnotations } from './chat.citations.ts';
import { thoughtsIn, writeCall, writeThinking } from './chat.request.ts';
import { UnsignedThoughts } from './chat.thoughts.ts';
import { CallIds, idAs } from './ids.ts';
import { type Block, type Event, type Finish, noUsage, type Reply, type Usage } from './model.ts';
import { failureOf, isFailure } from './refusals.ts';
import { Details, returnedOf, Sealer, signedExtra } from './sealed.ts';
import { type Frame, frameOf } from './sse.ts';
import { countOf, defined, isObject, numberOf, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

const finishes: Readonly<Record<string, Finish>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
};
/** Why an answer ended, as chat completions say it. */
export const finishNames: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool_calls',
  refusal: 'content_filter',
};

/** Why an answer ended. With a call that was forced, OpenAI says `stop`; others say so with any call. */
function finishOf(reason: string | undefined, hasCalls: boolean): Finish {
  const finish = finishes[reason ?? ''] ?? 'stop';
  return finish === 'stop' && hasCalls ? 'calls' : finish;
}

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
const thoughtField = (message: Value) => thoughtFields.find((name) => textOf(message[name]));
const thoughtOf = (message: Value): string => textOf(message[thoughtField(message) ?? '']) ?? '';

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
  for (const call of objectsOf(message['tool_calls'])) {
    const { name, arguments: input } = objectOf(call['function']);
    const id = ids.unique(textOf(call['id']));
    const extra = signedExtra(call['extra_content']);
    const signature = extra && sealer.seal({ call: id, extra });
    if (signature !== undefined) blocks.push({ type: 'thinking', text: '', signature });
    blocks.push({ type: 'call', id, name: textOf(name) ?? '', input: inputOf(input) || '{}' });
  }
  const hasCalls = blocks.some(({ type }) => type === 'call');
  const finish = finishOf(textOf(choice['finish_reason']), hasCalls);
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

/** Reads a stream of chat completions. What comes after its end is dropped. */
export class ChatReader {
  #next = 0;
  #isStarted = false;
  /** The block of text, thinking or refusal that is open. */
  #open: { type: string; index: number } | undefined;
  /** The open block is thinking that has its signature: more of it is another thought. */
  #isSigned = false;
  /** Its text so far. */
  #thought = '';
  readonly #unsigned = new UnsignedThoughts();
  readonly #sealer = new Sealer();
  readonly #calls: CallFragments;
  /** What the model wants back of the open thought, or of none. */
  readonly #details = new Details();
  #extra: Value | undefined;
  #field: 'reasoning_content' | 'reasoning' | undefined;
  #id = '';
  #hasRole = false;
  /** Choices that have begun and not finished. */
  readonly #unfinished = new Set<number>();
  #finish: Finish | undefined;
  /** The last frame as it should have been, where a client that goes by the places of its calls would mix them up. */
  mended: string | undefined;

  /** `tools`: the names of those that the request offers. */
  constructor({ tools = [] }: { tools?: readonly string[] } = {}) {
    this.#calls = new CallFragments(this.#sealer, tools);
  }

  /** The events of a frame. */
  push({ data }: Frame): Event[] {
    this.mended = undefined;
    if (data === undefined || data === '') return [];
    if (data.trim() === '[DONE]') return this.#end();
    const body = parsed(data);
    if (isFailure(body)) return [failureOf(body)];
    if (!isObject(body)) return [{ type: 'error', message: 'the upstream sent what is not JSON' }];
    const events: Event[] = [];
    if (!this.#isStarted && Array.isArray(body['choices'])) {
      this.#isStarted = true;
      this.#id = textOf(body['id']) ?? '';
      this.#sealer.model = textOf(body['model']) ?? '';
      events.push({ type: 'start', id: this.#id, model: this.#sealer.model });
    }
    for (const choice of objectsOf(body['choices'])) this.#choice(choice, events, body);
    const usage = readChatUsage(body['usage']);
    if (usage) events.push({ type: 'usage', usage });
    return events;
  }

  /** The stream is over without a last word: fine once every choice has finished. */
  end(): Event[] {
    return this.#end();
  }

  #end(): Event[] {
    if (this.#finish === undefined || this.#unfinished.size > 0)
      return [{ type: 'error', message: 'the upstream ended in the middle of its answer' }];
    return [{ type: 'end' }];
  }

  #choice(choice: Value, events: Event[], body: Value): void {
    const at = numberOf(choice['index']) ?? 0;
    const reason = textOf(choice['finish_reason']);
    if (reason === undefined) this.#unfinished.add(at);
    else this.#unfinished.delete(at);
    if (at === 0) {
      const delta = objectOf(choice['delta']);
      const mended = this.#withUntold(delta, this.#delta(delta, events), reason !== undefined);
      if (mended) this.mended = withDelta(body, choice, mended);
    } else events.push({ type: 'open', index: -1, block: { type: 'other' } });
    if (reason === undefined || at !== 0) {
      if (reason !== undefined) this.#finish ??= 'stop';
      return;
    }
    this.#close(events);
    this.#sealRest(events);
    events.push(...this.#calls.end());
    this.#finish = finishOf(reason, !this.#calls.isEmpty);
    events.push({ type: 'finish', finish: this.#finish });
  }

  /** At the end of an answer with the calls that were held back for more of their names. */
  #withUntold(delta: Value, mended: Value | undefined, isLast: boolean): Value | undefined {
    const untold = isLast ? this.#calls.untold() : [];
    if (untold.length === 0) return mended;
    const told = objectsOf((mended ?? delta)['tool_calls']);
    return { ...delta, ...mended, tool_calls: [...told, ...untold] };
  }

  /** Answers the delta with its calls where they belong, and whose it is, if it does not say so. */
  #delta(given: Value, events: Event[]): Value | undefined {
    const lacksRole = !this.#hasRole && textOf(given['role']) === undefined;
    this.#hasRole = true;
    const delta = lacksRole ? { ...given, role: 'assistant' } : given;
    const signed = objectsOf(delta['thinking_blocks']);
    const thought = thoughtOf(delta);
    if (this.#isSigned && thought !== '') this.#close(events);
    this.#field = thoughtField(delta) ?? this.#field;
    this.#extra = signedExtra(delta['extra_content']) ?? this.#extra;
    this.#details.push(objectsOf(delta['reasoning_details']));
    this.#text('thinking', thought, events);
    for (const one of signed) this.#thinkingBlock(one, thought !== '', events);
    this.#text('text', textOf(delta['content']) ?? '', events);
    this.#text('refusal', textOf(delta['refusal']) ?? '', events);
    for (const citation of readCitations(delta['annotations'])) {
      if (this.#open?.type === 'text') events.push({ type: 'citation', index: this.#open.index, citation });
    }
    const calls = objectsOf(delta['tool_calls']).map((call) => [call, this.#call(call, events)] as const);
    if (delta['audio'] || delta['function_call']) events.push({ type: 'open', index: -1, block: { type: 'other' } });
    if (calls.every(([, read]) => read && !read.mended && !read.isKept)) return lacksRole ? delta : undefined;
    const told = calls.flatMap(([call, read]) => (read && !read.isKept ? (read.mended ?? call) : []));
    return { ...delta, tool_calls: told };
  }

  /** A piece of a thought, its signature, or with its signature all of it once more; `isTold`: its text came beside. */
  #thinkingBlock({ thinking, signature, data }: Value, isTold: boolean, events: Event[]): void {
    if (typeof data === 'string') return this.#redacted(data, events);
    const text = textOf(thinking) ?? '';
    const isSigned = typeof signature === 'string' && signature !== '';
    const isOpen = this.#open?.type === 'thinking';
    const isAgain = isSigned && isOpen && !this.#isSigned && text === this.#thought;
    if (isSigned && !isAgain && this.#late(text, signature, events)) return;
    if (!isTold && !isAgain) {
      if (this.#isSigned && text !== '') this.#close(events);
      this.#text('thinking', text, events);
    }
    if (isSigned) this.#signature(signature, events);
  }

  /** A thought that was told without a signature, or with others in one, comes with it at the end. */
  #late(text: string, signature: string, events: Event[]): boolean {
    const again = this.#unsigned.placeOf(text);
    if (again === undefined) return false;
    this.#close(events);
    const index = this.#next++;
    events.push({ type: 'open', index, block: { type: 'thinking' }, again });
    events.push({ type: 'delta', index, text }, { type: 'signature', index, signature }, { type: 'close', index });
    return true;
  }

  #text(type: 'text' | 'thinking' | 'refusal', text: string, events: Event[]): void {
    if (text === '') return;
    if (this.#open?.type !== type) {
      this.#close(events);
      this.#open = { type, index: this.#next++ };
      this.#thought = '';
      events.push({ type: 'open', index: this.#open.index, block: { type } });
    }
    if (type === 'thinking') this.#thought += text;
    events.push({ type: 'delta', index: this.#open.index, text });
  }

  /** A signature ends what was thought; one without any text is thinking that is not shown. */
  #signature(signature: string, events: Event[]): void {
    if (this.#open?.type !== 'thinking' || this.#isSigned) {
      this.#close(events);
      this.#open = { type: 'thinking', index: this.#next++ };
      events.push({ type: 'open', index: this.#open.index, block: { type: 'thinking' } });
    }
    this.#isSigned = true;
    events.push({ type: 'signature', index: this.#open.index, signature });
  }

  #redacted(data: string, events: Event[]): void {
    this.#close(events);
    const index = this.#next++;
    events.push({ type: 'open', index, block: { type: 'redacted', data } }, { type: 'close', index });
  }

  #call(fragment: Value, events: Event[]) {
    const read = this.#calls.push(fragment, this.#id, () => {
      this.#close(events);
      this.#sealRest(events);
      return this.#next++;
    });
    events.push(...(read?.events ?? []));
    return read;
  }

  /** What the model wants back with a thought. */
  #seal(field?: 'reasoning_content' | 'reasoning'): string | undefined {
    const [details, extra] = [this.#details.take(), this.#extra];
    this.#extra = undefined;
    if (!extra && !details && field === undefined) return undefined;
    return this.#sealer.seal({ ...(extra && { extra }), ...(details ? { details } : defined({ field })) });
  }

  /** What came without a thought that is shown. */
  #sealRest(events: Event[]): void {
    const signature = this.#seal();
    if (signature !== undefined) events.push(...thoughtOnly(this.#next++, signature));
  }

  #close(events: Event[]): void {
    if (this.#open?.type === 'thinking' && !this.#isSigned) {
      const { index } = this.#open;
      const signature = this.#seal(this.#field);
      if (signature !== undefined) events.push({ type: 'signature', index, signature });
      this.#unsigned.push(index, this.#thought);
    }
    if (this.#open) events.push({ type: 'close', index: this.#open.index });
    this.#open = undefined;
    this.#isSigned = false;
  }
}

/** The frame with another delta in one of its choices. */
const withDelta = (body: Value, choice: Value, delta: Value): string =>
  frameOf({ ...body, choices: objectsOf(body['choices']).map((one) => (one === choice ? { ...one, delta } : one)) });
