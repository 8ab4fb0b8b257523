import { finishOf, isCutBy, readChatUsage, thoughtField, thoughtOf } from './chat.answer.ts';
import { CallFragments, thoughtOnly } from './chat.calls.ts';
import { readCitations } from './chat.citations.ts';
import { UnsignedThoughts } from './chat.thoughts.ts';
import { tooManyCalls } from './ids.ts';
import type { Event, Finish } from './model.ts';
import { failureOf, isFailure } from './refusals.ts';
import { Details, Sealer, signedExtra } from './sealed.ts';
import { type Frame, frameOf } from './sse.ts';
import { defined, isObject, numberOf, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

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
  /** Choices that have finished: what is said of them once more, with or without their finish, begins none of them. */
  readonly #finished = new Set<number>();
  /** Of the first choice, which is the one that is read. */
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
    if (this.#calls.isTooMany) return [{ type: 'error', message: tooManyCalls }];
    const usage = readChatUsage(body['usage']);
    if (usage) events.push({ type: 'usage', usage });
    return events;
  }

  /** The stream is over without a last word: fine once every choice has finished. */
  end(): Event[] {
    return this.#end();
  }

  #end(): Event[] {
    if (this.#finished.size === 0 || this.#unfinished.size > 0)
      return [{ type: 'error', message: 'the upstream ended in the middle of its answer' }];
    // Some finish before they have said all.
    const events: Event[] = [];
    this.#close(events);
    return [...events, ...this.#calls.end(this.#finish === 'length' || this.#finish === 'refusal'), { type: 'end' }];
  }

  #choice(choice: Value, events: Event[], body: Value): void {
    const at = numberOf(choice['index']) ?? 0;
    // Some say an empty reason as long as there is none.
    const reason = textOf(choice['finish_reason']) || undefined;
    if (reason !== undefined) this.#finished.add(at);
    if (this.#finished.has(at)) this.#unfinished.delete(at);
    else this.#unfinished.add(at);
    if (at === 0) {
      const delta = objectOf(choice['delta']);
      const mended = this.#withUntold(delta, this.#delta(delta, events), reason);
      if (mended) this.mended = withDelta(body, choice, mended);
    } else events.push({ type: 'open', index: -1, block: { type: 'other' } });
    if (reason !== undefined && at === 0) this.#finishWith(reason, events);
  }

  /** Some say the finish in each of their last chunks: it counts once, unless calls came after it. */
  #finishWith(reason: string, events: Event[]): void {
    this.#close(events);
    this.#sealRest(events);
    events.push(...this.#calls.end(isCutBy(reason)));
    const finish = finishOf(reason, !this.#calls.isEmpty);
    if (this.#finish !== undefined && (this.#finish !== 'stop' || finish !== 'calls')) return;
    this.#finish = finish;
    events.push({ type: 'finish', finish });
  }

  /** At the end of an answer with the calls that were held back for more of their names. */
  #withUntold(delta: Value, mended: Value | undefined, reason: string | undefined): Value | undefined {
    const untold = reason === undefined ? [] : this.#calls.untold(isCutBy(reason));
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
