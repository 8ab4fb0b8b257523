import { CallIds } from './ids.ts';
import { type Block, type Citation, type Event, type Finish, type Opening, type Usage } from './model.ts';
import {
  finishOf,
  itemId,
  readResponsesCitation,
  readResponsesUsage,
  responseOf,
  writeOutputItem,
  writeResponsesCitation,
} from './responses.items.ts';
import { failureOf, isFailure } from './refusals.ts';
import { type Frame, frameOf } from './sse.ts';
import { defined, isObject, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

/** An item of a response that is under way. */
interface ReadItem {
  /** Its blocks: those of a message by their part, that of any other item by its kind. */
  blocks: Map<string, { index: number; isOpen: boolean; hasText: boolean }>;
}

/** Reads a stream of responses. What comes after its end is dropped. */
export class ResponsesReader {
  #next = 0;
  /**
   * Items by their ids, which come first, and by their places: some number all of them 0, others give each event an
   * id.
   */
  readonly #byId = new Map<string, ReadItem>();
  readonly #byPlace = new Map<unknown, ReadItem>();
  readonly #items: ReadItem[] = [];
  #ids = new CallIds();
  #hasCalls = false;

  /** The events of a frame. */
  push({ data }: Frame): Event[] {
    if (data === undefined || data === '' || data === '[DONE]') return [];
    const body = parsed(data);
    if (Array.isArray(body) && isFailure(body)) return [failureOf(body)];
    if (!isObject(body)) return [{ type: 'error', message: 'the upstream sent what is not JSON' }];
    const response = objectOf(body['response']);
    switch (body['type']) {
      case 'response.created':
        this.#ids = new CallIds(textOf(response['id']));
        return [{ type: 'start', id: textOf(response['id']) ?? '', model: textOf(response['model']) ?? '' }];
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(response);
      case 'response.failed':
        return [failureOf(response['error'])];
      case 'error':
        return [failureOf(isObject(body['error']) ? body['error'] : { ...body, type: undefined })];
      default:
        if (body['type'] === undefined && isFailure(body)) return [failureOf(body)];
        return this.#step(body);
    }
  }

  /** The stream is over: it must have said so before. */
  end(): Event[] {
    return [{ type: 'error', message: 'the upstream ended in the middle of its answer' }];
  }

  #step(body: Value): Event[] {
    const item = objectOf(body['item']);
    const delta = textOf(body['delta']) ?? '';
    const part = String(body['content_index']);
    switch (body['type']) {
      case 'response.output_item.added': {
        const begun = this.#begin(textOf(item['id']), body['output_index']);
        return item['type'] === 'function_call' ? this.#call(begun, item) : [];
      }
      case 'response.output_text.delta':
        return this.#delta(this.#itemOf(body), part, 'text', delta);
      case 'response.refusal.delta':
        return this.#delta(this.#itemOf(body), part, 'refusal', delta);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#delta(this.#itemOf(body), 'thinking', 'thinking', delta);
      case 'response.function_call_arguments.delta':
        return this.#delta(this.#itemOf(body), 'call', 'call', delta);
      case 'response.output_text.annotation.added': {
        const block = this.#itemOf(body).blocks.get(part);
        const citation = readResponsesCitation(objectOf(body['annotation']));
        return block ? [{ type: 'citation', index: block.index, citation }] : [];
      }
      case 'response.content_part.done':
        return closeIn(this.#itemOf(body), part);
      case 'response.output_item.done':
        return this.#itemDone(this.#itemOf({ ...body, item_id: item['id'] }), item);
      default:
        return [];
    }
  }

  #begin(id: string | undefined, place: unknown): ReadItem {
    const item: ReadItem = { blocks: new Map() };
    this.#items.push(item);
    if (id) this.#byId.set(id, item);
    this.#byPlace.set(place, item);
    return item;
  }

  #itemOf({ item_id: given, output_index: place }: Value): ReadItem {
    const id = textOf(given);
    return this.#byId.get(id ?? '') ?? this.#byPlace.get(place) ?? this.#begin(id, place);
  }

  #open(item: ReadItem, key: string, block: Opening): { index: number; events: Event[] } {
    const index = this.#next++;
    item.blocks.set(key, { index, isOpen: true, hasText: false });
    return { index, events: [{ type: 'open', index, block }] };
  }

  #call(into: ReadItem, item: Value): Event[] {
    this.#hasCalls = true;
    const [id, name = ''] = [this.#ids.unique(textOf(item['call_id'])), textOf(item['name'])];
    return this.#open(into, 'call', { type: 'call', id, name }).events;
  }

  #delta(item: ReadItem, key: string, type: 'text' | 'refusal' | 'thinking' | 'call', text: string): Event[] {
    const known = item.blocks.get(key);
    if (text === '' || (!known && type === 'call')) return [];
    const { index, events } = known ? { index: known.index, events: [] } : this.#open(item, key, { type } as Opening);
    const block = item.blocks.get(key);
    if (block) block.hasText = true;
    return [...events, { type: 'delta', index, text }];
  }

  #itemDone(into: ReadItem, item: Value): Event[] {
    const events: Event[] = [];
    if (item['type'] === 'function_call') {
      if (!into.blocks.has('call')) events.push(...this.#call(into, item));
      // Some say the input of a call at its end alone.
      if (into.blocks.get('call')?.hasText === false)
        events.push(...this.#delta(into, 'call', 'call', textOf(item['arguments']) ?? ''));
    }
    const signature = textOf(item['encrypted_content']);
    if (item['type'] === 'reasoning' && signature !== undefined) {
      const known = into.blocks.get('thinking');
      const opened = known ? { index: known.index, events: [] } : this.#open(into, 'thinking', { type: 'thinking' });
      events.push(...opened.events, { type: 'signature', index: opened.index, signature });
    }
    return [...events, ...closeAll(into)];
  }

  #finish(response: Value): Event[] {
    const usage = readResponsesUsage(response);
    const closing = this.#items.flatMap(closeAll);
    const finish = finishOf(response, this.#hasCalls);
    return [
      ...closing,
      ...(usage ? [{ type: 'usage', usage } as const] : []),
      { type: 'finish', finish },
      { type: 'end' },
    ];
  }
}

function closeIn({ blocks }: ReadItem, key: string): Event[] {
  const block = blocks.get(key);
  if (!block?.isOpen) return [];
  block.isOpen = false;
  return [{ type: 'close', index: block.index }];
}

const closeAll = (item: ReadItem): Event[] => [...item.blocks.keys()].flatMap((key) => closeIn(item, key));

interface Item {
  id: string;
  at: number;
  block: Block;
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
        return this.#opened(event.index, event.block);
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
        const isCut = this.#finish === 'length' || this.#finish === 'refusal';
        return [
          this.#event(isCut ? 'response.incomplete' : 'response.completed', { response: this.#response(this.#finish) }),
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

  #opened(index: number, opening: Opening): string[] {
    if (opening.type === 'other') return [];
    const at = this.#items.size;
    const id = itemId(opening.type, this.#head.id, at);
    const block: Block =
      opening.type === 'call'
        ? { ...opening, input: '' }
        : opening.type === 'redacted'
          ? opening
          : { ...opening, text: '' };
    this.#items.set(index, { id, at, block, written: undefined });
    const whole = writeOutputItem(block, id, 'in_progress') as Value;
    const item = opening.type === 'text' || opening.type === 'refusal' ? { ...whole, content: [] } : whole;
    const frames = [this.#event('response.output_item.added', { output_index: at, item })];
    if (opening.type === 'text' || opening.type === 'refusal')
      frames.push(this.#event('response.content_part.added', { ...placeOf(id, at), part: partOf(block) }));
    if (opening.type === 'thinking') {
      const part = { type: 'summary_text', text: '' };
      const place = { item_id: id, output_index: at, summary_index: 0 };
      frames.push(this.#event('response.reasoning_summary_part.added', { ...place, part }));
    }
    return frames;
  }

  #delta(index: number, delta: string): string[] {
    const item = this.#items.get(index);
    if (!item) return [];
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
    const { id, at, block } = item;
    if (block.type === 'call' && block.input === '') block.input = '{}';
    item.written = writeOutputItem(block, id);
    return [
      ...this.#partDone(item),
      this.#event('response.output_item.done', { output_index: at, item: item.written }),
    ];
  }

  #partDone({ id, at, block }: Item): string[] {
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
