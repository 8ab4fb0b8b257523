import { CallIds, tooManyCalls } from './ids.ts';
import { mendedReply } from './mended.ts';
import { type Event, isCut, type Opening } from './model.ts';
import { failureOf, isFailure } from './refusals.ts';
import { finishOf, readResponsesCitation, readResponsesUsage } from './responses.items.ts';
import { type Frame, frameOf } from './sse.ts';
import { isObject, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

/** An item of a response that is under way. */
interface ReadItem {
  /** As it was said first, its place among the items of the answer, and of a call the id that its client hears. */
  id: string | undefined;
  at: number;
  callId?: string;
  /** Its blocks: those of a message by their part, that of any other item by its kind. */
  blocks: Map<string, { index: number; isOpen: boolean; hasText: boolean }>;
  /** The begin of a call that has no input yet: where the answer ends in its midst, nothing else comes of it. */
  held?: Event[];
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
  /** The last frame as it should have been, where a client that goes by places and ids would mix its items up. */
  mended: string | undefined;

  /** The events of a frame. */
  push({ data }: Frame): Event[] {
    this.mended = undefined;
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
      case 'response.incomplete': {
        this.#mendLast(body, response);
        return this.#finish(response);
      }
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
        const events = item['type'] === 'function_call' ? this.#call(begun, item) : [];
        this.#mend(body, begun);
        return events;
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
      case 'response.output_item.done': {
        const done = this.#itemOf({ ...body, item_id: item['id'] });
        const events = this.#itemDone(done, item);
        this.#mend(body, done);
        return events;
      }
      default:
        // Of steps that tell nothing new the places count too.
        if (textOf(body['item_id']) !== undefined) this.#itemOf(body);
        return [];
    }
  }

  /** The whole answer names its items and calls as the steps before did. */
  #mendLast(body: Value, given: Value): void {
    const response: Value = { ...given, ...mendedReply('responses', given) };
    const listed = objectsOf(response['output']);
    // One that was said with its id is itself, and places mean nothing in a list that lacks some.
    const isWhole = listed.length === this.#items.length;
    const output = listed.map((item, at) => {
      const [id, own] = [this.#items[at]?.id, textOf(item['id']) ?? ''];
      const isRight = isSealedItem(item) || id === undefined || !isWhole || this.#byId.has(own);
      return isRight ? item : { ...item, id };
    });
    const was = objectsOf(given['output']);
    if (output.every((item, at) => item === was[at])) return;
    this.mended = frameOf({ ...body, response: { ...response, output } }, textOf(body['type']));
  }

  #begin(id: string | undefined, place: unknown): ReadItem {
    const item: ReadItem = { id, at: this.#items.length, blocks: new Map() };
    this.#items.push(item);
    if (id) this.#byId.set(id, item);
    this.#byPlace.set(place, item);
    return item;
  }

  #itemOf(body: Value): ReadItem {
    const { item_id: given, output_index: place } = body;
    const id = textOf(given);
    const item = this.#byId.get(id ?? '') ?? this.#byPlace.get(place) ?? this.#begin(id, place);
    // Some say the id of an item later than its begin: the first is the one that its client goes by.
    if (id && item.id === undefined) {
      item.id = id;
      this.#byId.set(id, item);
    }
    if (!isObject(body['item'])) this.#mend(body, item);
    return item;
  }

  /** Clients know an item by its place and by the id that it was said with first. */
  #mend(body: Value, { id, at, callId }: ReadItem): void {
    const { item_id: itemId, item } = body;
    const said = objectOf(item);
    const fields: Record<string, unknown> = {};
    if (body['output_index'] !== at) fields['output_index'] = at;
    if (typeof itemId === 'string' && itemId !== id) fields['item_id'] = id;
    const isOther = said['id'] !== id || (callId !== undefined && said['call_id'] !== callId);
    if (isObject(item) && isOther && !isSealedItem(said))
      fields['item'] = { ...said, id, ...(callId !== undefined && { call_id: callId }) };
    if (Object.keys(fields).length > 0) this.mended = frameOf({ ...body, ...fields }, textOf(body['type']));
  }

  #open(item: ReadItem, key: string, block: Opening): { index: number; events: Event[] } {
    const index = this.#next++;
    item.blocks.set(key, { index, isOpen: true, hasText: false });
    return { index, events: [{ type: 'open', index, block }] };
  }

  #call(into: ReadItem, item: Value): Event[] {
    this.#hasCalls = true;
    const [id, name = ''] = [this.#ids.unique(textOf(item['call_id'])), textOf(item['name'])];
    if (this.#ids.isTooMany) return [{ type: 'error', message: tooManyCalls }];
    into.callId = id;
    into.held = this.#open(into, 'call', { type: 'call', id, name }).events;
    return [];
  }

  #delta(item: ReadItem, key: string, type: 'text' | 'refusal' | 'thinking' | 'call', text: string): Event[] {
    const known = item.blocks.get(key);
    if (text === '' || (!known && type === 'call')) return [];
    const { index, events } = known ? { index: known.index, events: [] } : this.#open(item, key, { type } as Opening);
    const block = item.blocks.get(key);
    if (block) block.hasText = true;
    return [...events, ...release(item), { type: 'delta', index, text }];
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
    return [...events, ...closeAll(into, item['status'] === 'incomplete')];
  }

  #finish(response: Value): Event[] {
    const usage = readResponsesUsage(response);
    const finish = finishOf(response, this.#hasCalls);
    const closing = this.#items.flatMap((item) => closeAll(item, isCut(finish)));
    return [
      ...closing,
      ...(usage ? [{ type: 'usage', usage } as const] : []),
      { type: 'finish', finish },
      { type: 'end' },
    ];
  }
}

/** What is sealed may be bound to the id that came with it. */
const isSealedItem = (item: Value): boolean => textOf(item['encrypted_content']) !== undefined;

function closeIn({ blocks }: ReadItem, key: string): Event[] {
  const block = blocks.get(key);
  if (!block?.isOpen) return [];
  block.isOpen = false;
  return [{ type: 'close', index: block.index }];
}

/** `cut`: in its middle, so that a call without input is none. */
function closeAll(item: ReadItem, cut: boolean): Event[] {
  const held = release(item);
  if (held.length > 0 && cut) item.blocks.delete('call');
  const closing = [...item.blocks.keys()].flatMap((key) => closeIn(item, key));
  return cut ? closing : [...held, ...closing];
}

/** The steps that were held back. */
function release(item: ReadItem): Event[] {
  const { held = [] } = item;
  item.held = [];
  return held;
}
