import { idAs } from './ids.ts';
import { stopOf, writeMessagesCitation, writeMessagesUsage } from './messages.answer.ts';
import { type Event, noUsage, type Opening } from './model.ts';
import { frameOf } from './sse.ts';
import type { Value } from './values.ts';

/**
 * Writes a stream of messages. Its blocks count from zero, whatever the reader left out, and stand one after the other: of
 * a block that opens while another is open the steps wait until that one is closed.
 */
export class MessagesWriter {
  readonly #blocks = new Map<number, { at: number; type: string; isAgain: boolean }>();
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
          named({ type: 'message_delta', delta: this.#finish, usage: writeMessagesUsage(this.#usage), ...this.#extra }),
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

  /** Closes the blocks that an upstream left open. */
  #rest(): string[] {
    const frames: string[] = [];
    while (this.#current !== undefined) frames.push(...this.#step({ type: 'close', index: this.#current }));
    return frames;
  }

  #frames(event: Step): string[] {
    switch (event.type) {
      case 'open':
        return this.#opened(event);
      case 'delta':
        // A client adds up what it is told: of a thought that was told before the signature alone is new.
        if (this.#blocks.get(event.index)?.isAgain) return [];
        return this.#delta(event.index, ({ type }) => deltaAs(type, event.text));
      case 'signature':
        return this.#delta(event.index, () => ({ type: 'signature_delta', signature: event.signature }));
      case 'citation':
        return this.#delta(event.index, () => ({
          type: 'citations_delta',
          citation: writeMessagesCitation(event.citation),
        }));
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
    return named({ type: 'message_start', message: { ...head, usage: writeMessagesUsage(this.#usage) } });
  }

  #opened({ index, block, again }: Extract<Event, { type: 'open' }>): string[] {
    if (block.type === 'other') return [];
    const at = this.#blocks.size;
    this.#blocks.set(index, { at, type: block.type, isAgain: again !== undefined });
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
