import { finishNames, writeChatUsage } from './chat.answer.ts';
import { writeCitation } from './chat.citations.ts';
import { idAs } from './ids.ts';
import type { Citation, Event, Usage } from './model.ts';
import { isSealed, returnedOf } from './sealed.ts';
import { frameOf } from './sse.ts';
import type { Value } from './values.ts';

/** Writes a stream of chat completions. */
export class ChatWriter {
  readonly #created: number;
  /** The client asked for a chunk with the usage. */
  readonly #tellsUsage: boolean;
  #head = { id: '', model: '' };
  readonly #kinds = new Map<number, string>();
  readonly #calls = new Map<number, number>();
  readonly #emptyCalls = new Set<number>();
  /** Where each text begins in the one text that a client has, and how long that is. */
  readonly #begins = new Map<number, number>();
  #letters = 0;
  readonly #signatures = new Map<number, string>();
  /** Thoughts as they were told: each comes once more with its signature. */
  readonly #thoughts = new Map<number, string>();
  /**
   * What is signed or redacted, told at once and at the end: some clients keep the last of a field, some add up, and
   * some break over a list that comes twice.
   */
  readonly #signed: Value[] = [];
  readonly #sealed: string[] = [];
  /** What calls that are not told yet want back. */
  readonly #extras = new Map<string, Value>();
  /** Places of calls that were told, by their ids. */
  readonly #places = new Map<string, number>();
  #usage: Usage | undefined;

  constructor({ created, tellsUsage }: { created: number; tellsUsage: boolean }) {
    this.#created = created;
    this.#tellsUsage = tellsUsage;
  }

  /** The frames of an event. */
  push(event: Event): string[] {
    switch (event.type) {
      case 'start':
        this.#head = { id: idAs('chat', event.id), model: event.model };
        return [this.#chunk({ role: 'assistant', content: '' })];
      case 'open':
        return this.#opened(event.index, event.block);
      case 'delta':
        return this.#delta(event.index, event.text);
      case 'signature':
        this.#signatures.set(event.index, (this.#signatures.get(event.index) ?? '') + event.signature);
        return [];
      case 'citation':
        return this.#citation(event.index, event.citation);
      case 'close':
        return this.#closed(event.index);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'finish':
        return [...this.#signedChunk(), this.#chunk({ ...event.extra }, finishNames[event.finish])];
      case 'end':
        return [...this.#usageChunk(), frameOf('[DONE]')];
      case 'error':
        return [chatErrorFrame(event.message)];
      default:
        return event satisfies never;
    }
  }

  #closed(index: number): string[] {
    // Clients parse what came: a call without input has an empty one.
    if (this.#emptyCalls.has(index)) return this.#delta(index, '{}');
    const signature = this.#signatures.get(index);
    if (signature === undefined) return [];
    this.#signatures.delete(index);
    if (isSealed(signature)) return this.#extra(signature);
    const thinking = this.#thoughts.get(index) ?? '';
    this.#signed.push({ type: 'thinking', thinking, signature });
    return [];
  }

  #signedChunk(): string[] {
    const thoughts = this.#sealed.map((signature) => ({ text: '', signature }));
    const { reasoning_content: _, reasoning: __, ...fields } = returnedOf(thoughts, undefined).fields;
    const told = { ...fields, ...(this.#signed.length > 0 && { thinking_blocks: this.#signed }) };
    return Object.keys(told).length > 0 ? [this.#chunk(told)] : [];
  }

  #extra(signature: string): string[] {
    this.#sealed.push(signature);
    const { extras } = returnedOf([{ text: '', signature }], undefined);
    for (const [call, extra] of extras) this.#extras.set(call, extra);
    return [...extras].flatMap(([call, extra]) => {
      const index = this.#places.get(call);
      return index === undefined ? [] : [this.#chunk({ tool_calls: [{ index, extra_content: extra }] })];
    });
  }

  #citation(index: number, citation: Citation): string[] {
    const from = this.#begins.get(index) ?? 0;
    const annotation = writeCitation(citation, from, this.#letters - from);
    return annotation ? [this.#chunk({ annotations: [annotation] })] : [];
  }

  #usageChunk(): string[] {
    if (!this.#tellsUsage || !this.#usage) return [];
    return [frameOf({ ...this.#envelope(), choices: [], usage: writeChatUsage(this.#usage) })];
  }

  #opened(index: number, block: Extract<Event, { type: 'open' }>['block']): string[] {
    this.#kinds.set(index, block.type);
    if (block.type === 'text') this.#begins.set(index, this.#letters);
    if (block.type === 'redacted') this.#signed.push({ type: 'redacted_thinking', data: block.data });
    if (block.type !== 'call') return [];
    const at = this.#calls.size;
    this.#calls.set(index, at);
    this.#emptyCalls.add(index);
    const { id, name } = block;
    this.#places.set(id, at);
    const extra = this.#extras.get(id);
    const call = { index: at, id, type: 'function', function: { name, arguments: '' } };
    return [this.#chunk({ tool_calls: [{ ...call, ...(extra && { extra_content: extra }) }] })];
  }

  #delta(index: number, text: string): string[] {
    const at = this.#calls.get(index);
    this.#emptyCalls.delete(index);
    if (at !== undefined) return [this.#chunk({ tool_calls: [{ index: at, function: { arguments: text } }] })];
    const kind = this.#kinds.get(index);
    if (kind === 'text') {
      this.#letters += text.length;
      return [this.#chunk({ content: text })];
    }
    if (kind === 'thinking') {
      this.#thoughts.set(index, (this.#thoughts.get(index) ?? '') + text);
      return [this.#chunk({ reasoning_content: text })];
    }
    return kind === 'refusal' ? [this.#chunk({ refusal: text })] : [];
  }

  #envelope(): Value {
    return { id: this.#head.id, object: 'chat.completion.chunk', created: this.#created, model: this.#head.model };
  }

  #chunk(delta: Value, finish: string | null = null): string {
    return frameOf({ ...this.#envelope(), choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  }
}

/** The last word of a stream of chat completions that failed: no `[DONE]` follows. */
export const chatErrorFrame = (message: string): string =>
  frameOf({ error: { message, type: 'api_error', code: 'upstream_error', param: null } });
