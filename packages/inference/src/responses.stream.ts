import { type Block, type Citation, type Event, type Finish, isCut, type Usage } from './model.ts';
import { itemId, responseOf, statusOf, writeOutputItem, writeResponsesCitation } from './responses.items.ts';
import { frameOf } from './sse.ts';
import { defined, objectsOf, type Value } from './values.ts';

interface Item {
  id: string;
  at: number;
  block: Block;
  /** Its text was told before: what is new is its signature. */
  isAgain: boolean;
  /** As it was told last. */
  written: Value | undefined;
}

/** Writes a stream of responses. */
export class ResponsesWriter {
  readonly #created: number;
  #sequence = 0;
  #head = { id: '', model: '' };
  readonly #items = new Map<number, Item>();
  #usage: Usage | undefined;
  #finish: Finish = 'stop';
  /** Calls that are over, until the next block or the end: that one says whether the last was cut. */
  #over: Item[] = [];

  constructor({ created }: { created: number }) {
    this.#created = created;
  }

  /** The frames of an event. */
  push(event: Event): string[] {
    switch (event.type) {
      case 'start':
        this.#head = { id: event.id, model: event.model };
        return ['response.created', 'response.in_progress'].map((type) =>
          this.#event(type, { response: this.#response() }),
        );
      case 'open':
        return [...this.#takeDone(), ...this.#opened(event)];
      case 'delta':
        return this.#delta(event.index, event.text);
      case 'signature': {
        const block = this.#items.get(event.index)?.block;
        if (block?.type === 'thinking') block.signature = (block.signature ?? '') + event.signature;
        return [];
      }
      case 'citation':
        return this.#citation(event.index, event.citation);
      case 'close':
        return this.#close(event.index);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'finish':
        this.#finish = event.finish;
        return [];
      case 'end': {
        return [
          ...this.#takeDone(),
          this.#event(isCut(this.#finish) ? 'response.incomplete' : 'response.completed', {
            response: this.#response(this.#finish),
          }),
        ];
      }
      case 'error':
        return [this.#event('response.failed', { response: this.#response(undefined, event.message) })];
      default:
        return event satisfies never;
    }
  }

  #event(type: string, fields: Value): string {
    return frameOf({ type, sequence_number: this.#sequence++, ...fields }, type);
  }

  #response(finish?: Finish, error?: string): Value {
    const output = [...this.#items.values()].flatMap<Value>(({ written }) => written ?? []);
    return responseOf({ ...this.#head, output, ...defined({ finish, usage: this.#usage, error }) }, this.#created);
  }

  #opened({ index, block: opening, again }: Extract<Event, { type: 'open' }>): string[] {
    if (opening.type === 'other') return [];
    const at = this.#items.size;
    const id = itemId(opening.type, this.#head.id, at);
    const block: Block =
      opening.type === 'call'
        ? { ...opening, input: '' }
        : opening.type === 'redacted'
          ? opening
          : { ...opening, text: '' };
    const isAgain = again !== undefined;
    this.#items.set(index, { id, at, block, isAgain, written: undefined });
    const whole = writeOutputItem(block, id, 'in_progress') as Value;
    const item = opening.type === 'text' || opening.type === 'refusal' ? { ...whole, content: [] } : whole;
    const frames = [this.#event('response.output_item.added', { output_index: at, item })];
    if (opening.type === 'text' || opening.type === 'refusal')
      frames.push(this.#event('response.content_part.added', { ...placeOf(id, at), part: partOf(block) }));
    if (opening.type === 'thinking' && !isAgain) {
      const part = { type: 'summary_text', text: '' };
      const place = { item_id: id, output_index: at, summary_index: 0 };
      frames.push(this.#event('response.reasoning_summary_part.added', { ...place, part }));
    }
    return frames;
  }

  #delta(index: number, delta: string): string[] {
    const item = this.#items.get(index);
    if (!item || item.isAgain) return [];
    const { id, at, block } = item;
    if (block.type === 'call') {
      block.input += delta;
      return [this.#event('response.function_call_arguments.delta', { item_id: id, output_index: at, delta })];
    }
    if (block.type !== 'text' && block.type !== 'refusal' && block.type !== 'thinking') return [];
    block.text += delta;
    if (block.type === 'thinking') {
      const place = { item_id: id, output_index: at, summary_index: 0 };
      return [this.#event('response.reasoning_summary_text.delta', { ...place, delta })];
    }
    const type = block.type === 'text' ? 'response.output_text.delta' : 'response.refusal.delta';
    return [this.#event(type, { ...placeOf(id, at), delta, ...(block.type === 'text' && { logprobs: [] }) })];
  }

  #citation(index: number, citation: Citation): string[] {
    const item = this.#items.get(index);
    if (item?.block.type !== 'text') return [];
    const annotation = writeResponsesCitation(citation, item.block.text.length);
    if (!annotation) return [];
    item.block.citations = [...(item.block.citations ?? []), citation];
    const place = { ...placeOf(item.id, item.at), annotation_index: item.block.citations.length - 1 };
    return [this.#event('response.output_text.annotation.added', { ...place, annotation })];
  }

  #close(index: number): string[] {
    const item = this.#items.get(index);
    if (!item || item.written) return [];
    const { block } = item;
    if (block.type !== 'call') return this.#done(item);
    if (block.input === '') block.input = '{}';
    this.#over.push(item);
    return [];
  }

  #takeDone(): string[] {
    const over = this.#over;
    this.#over = [];
    return over.flatMap((item) => this.#done(item));
  }

  #done(item: Item): string[] {
    const { id, at, block } = item;
    const status = statusOf(block, this.#finish);
    item.written = writeOutputItem(block, id, status);
    return [
      ...(status === 'completed' ? this.#partDone(item) : []),
      this.#event('response.output_item.done', { output_index: at, item: item.written }),
    ];
  }

  #partDone({ id, at, block, isAgain }: Item): string[] {
    if (isAgain) return [];
    if (block.type === 'call') {
      const fields = { item_id: id, output_index: at, name: block.name, arguments: block.input };
      return [this.#event('response.function_call_arguments.done', fields)];
    }
    if (block.type === 'thinking') {
      const place = { item_id: id, output_index: at, summary_index: 0 };
      const part = { type: 'summary_text', text: block.text };
      return [
        this.#event('response.reasoning_summary_text.done', { ...place, text: block.text }),
        this.#event('response.reasoning_summary_part.done', { ...place, part }),
      ];
    }
    if (block.type !== 'text' && block.type !== 'refusal') return [];
    const done =
      block.type === 'text'
        ? this.#event('response.output_text.done', { ...placeOf(id, at), text: block.text, logprobs: [] })
        : this.#event('response.refusal.done', { ...placeOf(id, at), refusal: block.text });
    return [done, this.#event('response.content_part.done', { ...placeOf(id, at), part: partOf(block) })];
  }
}

const placeOf = (id: string, at: number): Value => ({ item_id: id, output_index: at, content_index: 0 });

/** The one part that a message of ours has. */
const partOf = (block: Block): unknown => objectsOf(writeOutputItem(block, '')?.['content'])[0];

/** The last word of a stream of responses that failed, where the stream is another's own. */
export const responsesErrorFrame = (message: string): string => {
  const event = { type: 'error', sequence_number: 0, code: 'upstream_error', message, param: null };
  return frameOf(event, 'error');
};
