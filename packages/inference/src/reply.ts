import type { Block, Event, Finish, Opening, Reply, Usage } from './model.ts';
import { defined, type Value } from './values.ts';

/** Puts the steps of a streamed answer together to a whole one. What no protocol has a word for is left out. */
export class ReplyReader {
  #id = '';
  #model = '';
  #finish: Finish = 'stop';
  #stopSequence: string | undefined;
  #extra: Value | undefined;
  #usage: Usage | undefined;
  readonly #blocks = new Map<number, Block>();
  /** Blocks that took the place of another one. */
  readonly #places = new Map<number, number>();
  /** Letters of content that came. */
  letters = 0;

  push(event: Event): void {
    switch (event.type) {
      case 'start':
        this.#id = event.id;
        this.#model = event.model;
        return;
      case 'open': {
        const block = begun(event.block);
        if (event.again !== undefined) this.#places.set(event.index, event.again);
        if (block) this.#blocks.set(this.#placeOf(event.index), block);
        return;
      }
      case 'delta':
        this.letters += event.text.length;
        return this.#more(event.index, event.text);
      case 'signature': {
        const block = this.#blocks.get(this.#placeOf(event.index));
        if (block?.type === 'thinking') block.signature = (block.signature ?? '') + event.signature;
        return;
      }
      case 'citation': {
        const block = this.#blocks.get(event.index);
        if (block?.type === 'text') (block.citations ??= []).push(event.citation);
        return;
      }
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'finish':
        this.#finish = event.finish;
        this.#stopSequence = event.stopSequence;
        this.#extra = event.extra;
        return;
      case 'close':
      case 'end':
      case 'error':
        return;
      default:
        event satisfies never;
    }
  }

  /** The answer so far. */
  get reply(): Reply {
    const blocks = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    for (const block of blocks) if (block.type === 'call' && block.input === '') block.input = '{}';
    const more = { stopSequence: this.#stopSequence, usage: this.#usage, extra: this.#extra };
    return { id: this.#id, model: this.#model, blocks, finish: this.#finish, ...defined(more) };
  }

  #placeOf(index: number): number {
    return this.#places.get(index) ?? index;
  }

  #more(index: number, text: string): void {
    const block = this.#blocks.get(this.#placeOf(index));
    if (block?.type === 'call') block.input += text;
    else if (block?.type === 'text' || block?.type === 'thinking' || block?.type === 'refusal') block.text += text;
  }
}

function begun(opening: Opening): Block | undefined {
  switch (opening.type) {
    case 'text':
    case 'thinking':
    case 'refusal':
      return { type: opening.type, text: '' };
    case 'call':
      return { ...opening, input: '' };
    case 'redacted':
      return { ...opening };
    case 'other':
      return undefined;
    default:
      return opening satisfies never;
  }
}
