import { CallIds, idAs, tooManyCalls } from './ids.ts';
import { readMessagesBlock, readMessagesCitation } from './messages.request.ts';
import {
  type Block,
  type Citation,
  type Event,
  type Finish,
  isCut,
  isWholeInput,
  noUsage,
  type Opening,
  type Reply,
  type Usage,
} from './model.ts';
import { failureOf, isFailure } from './refusals.ts';
import { type Frame, frameOf } from './sse.ts';
import { countOf, defined, isObject, numberOf, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

const finishes = new Map<string | undefined, Finish>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'calls'],
  ['refusal', 'refusal'],
]);
const finishNames: Readonly<Record<Finish, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  refusal: 'refusal',
};

/** Usage as messages tells it, over what was told before; its input does not count what was cached. */
export function readMessagesUsage(usage: unknown, before: Usage = noUsage): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const has = (name: string): boolean => typeof usage[name] === 'number';
  const cached = has('cache_read_input_tokens') ? countOf(usage['cache_read_input_tokens']) : before.cached;
  const cacheWritten = has('cache_creation_input_tokens')
    ? countOf(usage['cache_creation_input_tokens'])
    : before.cacheWritten;
  const fresh = has('input_tokens')
    ? countOf(usage['input_tokens'])
    : before.input - before.cached - before.cacheWritten;
  const output = has('output_tokens') ? countOf(usage['output_tokens']) : before.output;
  const hour = objectOf(usage['cache_creation'])['ephemeral_1h_input_tokens'];
  const searches = objectOf(usage['server_tool_use'])['web_search_requests'];
  return {
    ...before,
    input: fresh + cached + cacheWritten,
    cached,
    cacheWritten,
    output,
    ...defined({
      cacheWrittenHour: typeof hour === 'number' ? countOf(hour) : undefined,
      searches: typeof searches === 'number' ? countOf(searches) : undefined,
    }),
  };
}

/** Usage as messages tell it. */
export const writeMessagesUsage = ({ input, output, cached, cacheWritten }: Usage): Value => ({
  input_tokens: input - cached - cacheWritten,
  output_tokens: output,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: cacheWritten,
});

const isKnown = ({ type }: Value): boolean =>
  type === 'text' || type === 'thinking' || type === 'redacted_thinking' || type === 'tool_use';

/** Reads a whole answer of messages. */
export function readMessagesReply(body: Value): Reply {
  const stopSequence = textOf(body['stop_sequence']);
  const usage = readMessagesUsage(body['usage']);
  const ids = new CallIds(textOf(body['id']));
  const blocks = objectsOf(body['content'])
    .filter(isKnown)
    .map(readMessagesBlock)
    .map((block) => (block.type === 'call' ? { ...block, id: ids.unique(block.id) } : block));
  const finish = finishes.get(textOf(body['stop_reason'])) ?? 'stop';
  const last = blocks.at(-1);
  if (isCut(finish) && last?.type === 'call' && last.input === '{}') blocks.pop();
  return {
    id: textOf(body['id']) ?? '',
    model: textOf(body['model']) ?? '',
    blocks,
    finish,
    ...defined({ stopSequence, usage }),
  };
}

/** Why an answer ended, as messages say it. */
export const stopOf = (finish: Finish, stopSequence: string | undefined): Value => ({
  stop_reason: stopSequence === undefined ? finishNames[finish] : 'stop_sequence',
  stop_sequence: stopSequence ?? null,
});

/** A citation of a text of messages. */
export const writeMessagesCitation = ({ url, title, quote, asMessages }: Citation): Value =>
  asMessages ?? {
    type: 'web_search_result_location',
    url: url ?? '',
    title: title ?? null,
    cited_text: quote ?? '',
    encrypted_index: '',
  };

/** Writes a whole answer of messages. */
export function writeMessagesReply({ id, model, blocks, finish, stopSequence, usage = noUsage, extra }: Reply): Value {
  return {
    id: idAs('messages', id),
    type: 'message',
    role: 'assistant',
    model,
    // An input that was cut cannot be said here: with an empty one the call would look whole.
    content: blocks.flatMap((block) =>
      block.type === 'call' && isCut(finish) && !isWholeInput(block.input) ? [] : writeAnswerBlock(block),
    ),
    ...stopOf(finish, stopSequence),
    usage: writeMessagesUsage(usage),
    ...extra,
  };
}

function writeAnswerBlock(block: Block): Value[] {
  switch (block.type) {
    case 'text': {
      const citations = block.citations?.map(writeMessagesCitation);
      return [{ type: 'text', text: block.text, ...(citations && { citations }) }];
    }
    case 'refusal':
      return [{ type: 'text', text: block.text }];
    case 'thinking':
      return [{ type: 'thinking', thinking: block.text, signature: block.signature ?? '' }];
    case 'redacted':
      return [{ type: 'redacted_thinking', data: block.data }];
    case 'call':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: objectOf(parsed(block.input)) }];
    case 'image':
    case 'document':
    case 'audio':
    case 'result':
      return [];
    default:
      return block satisfies never;
  }
}

/** Reads a stream of messages. What comes after its end is dropped. */
export class MessagesReader {
  #usage: Usage | undefined;
  #isFinished = false;
  /** Blocks that are open, by the sender's index: it may begin each of them with the same one. */
  readonly #open = new Map<number, number>();
  #next = 0;
  #ids = new CallIds();
  /** The steps of a call that has no input yet: it may be the begin of one, of which nothing else comes. */
  #held: { index: number; events: Event[] } | undefined;
  /** The last frame as it should have been, where a client that goes by places and ids would mix its blocks up. */
  mended: string | undefined;

  /** The events of a frame. */
  push({ data }: Frame): Event[] {
    this.mended = undefined;
    if (data === undefined || data === '') return [];
    const body = parsed(data);
    if (Array.isArray(body) && isFailure(body)) return [failureOf(body)];
    if (!isObject(body)) return [{ type: 'error', message: 'the upstream sent what is not JSON' }];
    const index = numberOf(body['index']) ?? 0;
    switch (body['type']) {
      case 'message_start':
        return this.#start(objectOf(body['message']));
      case 'content_block_start':
        return this.#opened(index, body);
      case 'content_block_delta': {
        const at = this.#open.get(index) ?? this.#next - 1;
        this.#mend(body, at);
        const events = deltaOf(at, objectOf(body['delta']));
        return events.length === 0 ? events : [...this.#release(), ...events];
      }
      case 'content_block_stop':
        this.#mend(body, this.#open.get(index) ?? index);
        return this.#closed(index);
      case 'message_delta':
        return this.#finish(body);
      case 'message_stop':
        return this.end();
      case 'error':
        return [failureOf(body['error'] ?? body)];
      default:
        return body['type'] === undefined && isFailure(body) ? [failureOf(body)] : [];
    }
  }

  /** The stream is over: fine once the message has its stop reason. */
  end(): Event[] {
    if (this.#isFinished) return [{ type: 'end' }];
    return [{ type: 'error', message: 'the upstream ended in the middle of its answer' }];
  }

  #start(message: Value): Event[] {
    const start: Event = { type: 'start', id: textOf(message['id']) ?? '', model: textOf(message['model']) ?? '' };
    this.#ids = new CallIds(start.id);
    return [start, ...this.#count(message['usage'])];
  }

  #count(given: unknown): Event[] {
    const usage = readMessagesUsage(given, this.#usage);
    if (!usage) return [];
    this.#usage = usage;
    return [{ type: 'usage', usage }];
  }

  #closed(given: number): Event[] {
    const index = this.#open.get(given);
    this.#open.delete(given);
    if (index === undefined) return [];
    const close: Event = { type: 'close', index };
    if (this.#held?.index !== index) return [close];
    this.#held.events.push(close);
    return [];
  }

  /** The steps that were held back. */
  #release(): Event[] {
    const events = this.#held?.events ?? [];
    this.#held = undefined;
    return events;
  }

  /** Clients put blocks together by their places: those of their own are from 0 on. */
  #mend(body: Value, index: number, fields: Value = {}): void {
    if (body['index'] === index && Object.keys(fields).length === 0) return;
    this.mended = frameOf({ ...body, index, ...fields }, textOf(body['type']));
  }

  #opened(given: number, body: Value): Event[] {
    const said = objectOf(body['content_block']);
    const own = said['type'] === 'tool_use' ? this.#ids.unique(textOf(said['id'])) : undefined;
    if (this.#ids.isTooMany) return [{ type: 'error', message: tooManyCalls }];
    const block = own === undefined || own === said['id'] ? said : { ...said, id: own };
    const index = this.#next++;
    this.#mend(body, index, block === said ? {} : { content_block: block });
    const open = this.#open.get(given);
    const before = [...this.#closed(given), ...this.#release()];
    if (open !== undefined) {
      const stop = { type: 'content_block_stop', index: open };
      this.mended = frameOf(stop, stop.type) + (this.mended ?? frameOf({ ...body }, 'content_block_start'));
    }
    this.#open.set(given, index);
    const opening: Event = { type: 'open', index, block: openingOf(block) };
    if (opening.block.type === 'call') {
      this.#held = { index, events: [opening] };
      return before;
    }
    const begun = textOf(block['text']) || textOf(block['thinking']);
    return [...before, opening, ...(begun ? [{ type: 'delta', index, text: begun } as const] : [])];
  }

  #finish(body: Value): Event[] {
    const { stop_reason: reason, stop_sequence: sequence } = objectOf(body['delta']);
    const events = this.#count(body['usage']);
    if (typeof reason !== 'string') return events;
    this.#isFinished = true;
    const stopSequence = textOf(sequence);
    const finish = finishes.get(reason) ?? 'stop';
    const held = this.#release();
    return [...(isCut(finish) ? [] : held), ...events, { type: 'finish', finish, ...defined({ stopSequence }) }];
  }
}

function openingOf(block: Value): Opening {
  switch (block['type']) {
    case 'text':
    case 'thinking':
      return { type: block['type'] };
    case 'redacted_thinking':
      return { type: 'redacted', data: textOf(block['data']) ?? '' };
    case 'tool_use':
      return { type: 'call', id: textOf(block['id']) ?? '', name: textOf(block['name']) ?? '' };
    default:
      return { type: 'other' };
  }
}

function deltaOf(index: number, delta: Value): Event[] {
  const { signature, citation } = delta;
  if (typeof signature === 'string') return [{ type: 'signature', index, signature }];
  if (isObject(citation)) return [{ type: 'citation', index, citation: readMessagesCitation(citation) }];
  const text = textOf(delta['text']) ?? textOf(delta['partial_json']) ?? textOf(delta['thinking']);
  return text ? [{ type: 'delta', index, text }] : [];
}
