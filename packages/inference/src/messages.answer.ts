import { readMessagesBlock, readMessagesCitation } from './messages.request.ts';
import {
  type Block,
  type Citation,
  type Event,
  type Finish,
  noUsage,
  type Opening,
  type Reply,
  type Usage,
} from './model.ts';
import { idAs } from './ids.ts';
import { type Frame, frameOf } from './sse.ts';
import { countOf, defined, isObject, numberOf, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

const finishes: Readonly<Record<string, Finish>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'calls',
  refusal: 'refusal',
};
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

const writeUsage = ({ input, output, cached, cacheWritten }: Usage): Value => ({
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
  return {
    id: textOf(body['id']) ?? '',
    model: textOf(body['model']) ?? '',
    blocks: objectsOf(body['content']).filter(isKnown).map(readMessagesBlock),
    finish: finishes[textOf(body['stop_reason']) ?? ''] ?? 'stop',
    ...defined({ stopSequence, usage }),
  };
}

const stopOf = (finish: Finish, stopSequence: string | undefined): Value => ({
  stop_reason: stopSequence === undefined ? finishNames[finish] : 'stop_sequence',
  stop_sequence: stopSequence ?? null,
});

const writeCitation = ({ url, title, quote, asMessages }: Citation): Value =>
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
    content: blocks.flatMap(writeAnswerBlock),
    ...stopOf(finish, stopSequence),
    usage: writeUsage(usage),
    ...extra,
  };
}

function writeAnswerBlock(block: Block): Value[] {
  switch (block.type) {
    case 'text': {
      const citations = block.citations?.map(writeCitation);
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
  readonly #open = new Set<number>();

  /** The events of a frame. */
  push({ data }: Frame): Event[] {
    if (data === undefined || data === '') return [];
    const body = parsed(data);
    if (!isObject(body)) return [{ type: 'error', message: 'the upstream sent what is not JSON' }];
    const index = numberOf(body['index']) ?? 0;
    switch (body['type']) {
      case 'message_start':
        return this.#start(objectOf(body['message']));
      case 'content_block_start':
        return this.#opened(index, objectOf(body['content_block']));
      case 'content_block_delta':
        return deltaOf(index, objectOf(body['delta']));
      case 'content_block_stop':
        return this.#open.delete(index) ? [{ type: 'close', index }] : [];
      case 'message_delta':
        return this.#finish(body);
      case 'message_stop':
        return this.end();
      case 'error': {
        const { message, type } = objectOf(body['error']);
        const kind = textOf(type);
        return [{ type: 'error', message: textOf(message) ?? 'the upstream failed', ...defined({ kind }) }];
      }
      default:
        return [];
    }
  }

  /** The stream is over: fine once the message has its stop reason. */
  end(): Event[] {
    if (this.#isFinished) return [{ type: 'end' }];
    return [{ type: 'error', message: 'the upstream ended in the middle of its answer' }];
  }

  #start(message: Value): Event[] {
    const start: Event = { type: 'start', id: textOf(message['id']) ?? '', model: textOf(message['model']) ?? '' };
    return [start, ...this.#count(message['usage'])];
  }

  #count(given: unknown): Event[] {
    const usage = readMessagesUsage(given, this.#usage);
    if (!usage) return [];
    this.#usage = usage;
    return [{ type: 'usage', usage }];
  }

  #opened(index: number, block: Value): Event[] {
    this.#open.add(index);
    const events: Event[] = [{ type: 'open', index, block: openingOf(block) }];
    const begun = textOf(block['text']) || textOf(block['thinking']);
    if (begun) events.push({ type: 'delta', index, text: begun });
    return events;
  }

  #finish(body: Value): Event[] {
    const { stop_reason: reason, stop_sequence: sequence } = objectOf(body['delta']);
    const events = this.#count(body['usage']);
    if (typeof reason !== 'string') return events;
    this.#isFinished = true;
    const stopSequence = textOf(sequence);
    events.push({ type: 'finish', finish: finishes[reason] ?? 'stop', ...defined({ stopSequence }) });
    return events;
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

/**
 * Writes a stream of messages. Its blocks count from zero, whatever the reader left out, and stand one after the other: of
 * a block that opens while another is open the steps wait until that one is closed.
 */
export class MessagesWriter {
  readonly #blocks = new Map<number, { at: number; type: string }>();
  /** The block that is open, by the reader's index. */
  #current: number | undefined;
  /** Steps of blocks that wait for their turn, in the order in which they opened. */
  readonly #waiting = new Map<number, Event[]>();
  #usage = noUsage;
  #finish: Value = stopOf('stop', undefined);
  #extra: Value | undefined;

  /** The frames of an event. */
  push(event: Event): string[] {
    switch (event.type) {
      case 'start':
        return [this.#started(event)];
      case 'open':
      case 'delta':
      case 'signature':
      case 'citation':
      case 'close':
        return this.#step(event);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'finish':
        this.#finish = stopOf(event.finish, event.stopSequence);
        this.#extra = event.extra;
        return [];
      case 'end':
        return [
          ...this.#rest(),
          named({ type: 'message_delta', delta: this.#finish, usage: writeUsage(this.#usage), ...this.#extra }),
          named({ type: 'message_stop' }),
        ];
      case 'error':
        return [messagesErrorFrame(event.message)];
      default:
        return event satisfies never;
    }
  }

  #step(event: Step): string[] {
    if (event.type === 'open') {
      if (event.block.type === 'other') return [];
      if (this.#current !== undefined) {
        this.#waiting.set(event.index, [event]);
        return [];
      }
      this.#current = event.index;
    }
    const waiting = this.#waiting.get(event.index);
    if (waiting && event.type !== 'open') {
      waiting.push(event);
      return [];
    }
    const frames = this.#frames(event);
    return event.type === 'close' && event.index === this.#current ? [...frames, ...this.#nextBlocks()] : frames;
  }

  /** The block before is closed: those that waited go out until one is open. */
  #nextBlocks(): string[] {
    this.#current = undefined;
    const [next] = this.#waiting;
    if (!next) return [];
    const [index, events] = next;
    this.#waiting.delete(index);
    return events.flatMap((event) => this.#step(event as Step));
  }

  /** What an upstream forgot to close. */
  #rest(): string[] {
    const frames: string[] = [];
    while (this.#current !== undefined) frames.push(...this.#step({ type: 'close', index: this.#current }));
    return frames;
  }

  #frames(event: Step): string[] {
    switch (event.type) {
      case 'open':
        return this.#opened(event.index, event.block);
      case 'delta':
        return this.#delta(event.index, ({ type }) => deltaAs(type, event.text));
      case 'signature':
        return this.#delta(event.index, () => ({ type: 'signature_delta', signature: event.signature }));
      case 'citation':
        return this.#delta(event.index, () => ({ type: 'citations_delta', citation: writeCitation(event.citation) }));
      case 'close': {
        const at = this.#blocks.get(event.index)?.at;
        return at === undefined ? [] : [named({ type: 'content_block_stop', index: at })];
      }
      default:
        return event satisfies never;
    }
  }

  #started({ id, model }: { id: string; model: string }): string {
    const head = {
      id: idAs('messages', id),
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    return named({ type: 'message_start', message: { ...head, usage: writeUsage(this.#usage) } });
  }

  #opened(index: number, block: Opening): string[] {
    if (block.type === 'other') return [];
    const at = this.#blocks.size;
    this.#blocks.set(index, { at, type: block.type });
    return [named({ type: 'content_block_start', index: at, content_block: blockOf(block) })];
  }

  #delta(index: number, write: (block: { type: string }) => Value): string[] {
    const block = this.#blocks.get(index);
    return block ? [named({ type: 'content_block_delta', index: block.at, delta: write(block) })] : [];
  }
}

/** A step of a block. */
type Step = Extract<Event, { type: 'open' | 'delta' | 'signature' | 'citation' | 'close' }>;

function blockOf(block: Exclude<Opening, { type: 'other' }>): Value {
  switch (block.type) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data };
    case 'call':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
    default:
      return block satisfies never;
  }
}

const deltaAs = (type: string, text: string): Value =>
  type === 'call'
    ? { type: 'input_json_delta', partial_json: text }
    : type === 'thinking'
      ? { type: 'thinking_delta', thinking: text }
      : { type: 'text_delta', text };

const named = (event: Value & { type: string }): string => frameOf(event, event.type);

/** The last word of a stream of messages that failed. */
export const messagesErrorFrame = (message: string): string =>
  named({ type: 'error', error: { type: 'api_error', message } });
