import { isDeepStrictEqual } from 'node:util';
import { CallIds, mostCalls } from './ids.ts';
import type { Event } from './model.ts';
import type { Sealer } from './sealed.ts';
import { signedExtra } from './sealed.ts';
import { isObject, numberOf, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

/** The input of a call as text: some servers send an object. */
export const inputOf = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : (textOf(value) ?? ''));

/** Names of tools that a request offers, and letters of one; no request needs more. */
const most = { names: 1_024, letters: 256 };

/** The names of the tools that a request offers, in any protocol. */
export const toolNames = (body: Value): string[] =>
  objectsOf(body['tools'])
    .slice(0, most.names)
    .map((tool) => textOf(tool['name']) ?? textOf(objectOf(tool['function'])['name']) ?? '')
    .filter((name) => name !== '' && name.length <= most.letters);

/** Tells when the JSON object that comes in pieces is whole. */
class ObjectEnd {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  isWhole = false;

  push(text: string): void {
    for (const letter of text) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isText) {
        if (letter === '\\') this.#isEscaped = true;
        else if (letter === '"') this.#isText = false;
      } else if (letter === '"') this.#isText = true;
      else if (letter === '{' || letter === '[') this.#depth++;
      else if (letter === '}' || letter === ']') this.isWhole = --this.#depth === 0;
    }
  }
}

interface Call {
  /** The block that it is, and the one before it that carries its signature. */
  index: number;
  sealIndex: number;
  extra: Value | undefined;
  /** Its place among the calls of the answer. */
  at: number;
  /** Where the peer said that it stands. */
  place: number | undefined;
  /** As the peer said it, and as the client hears it. */
  id: string;
  ownId: string;
  name: string;
  input: string;
  end: ObjectEnd;
  /** Of a whole input: what it is, however it is spaced. */
  form?: string;
  /** The client heard of it: from then on its name is settled. */
  isOpen: boolean;
  /** A fragment with its name went on to a client of the same protocol. */
  isTold: boolean;
  /** The answer finished after it: its block is closed, and nothing more belongs to it. */
  isOver: boolean;
}

/** A fragment that was read. */
interface ReadFragment {
  events: Event[];
  /** The fragment as it should have been, where its place or id would mislead a client that goes by them. */
  mended?: Value;
  /** It waits for the name: clients take a call whose first fragment has none for broken. */
  isKept?: boolean;
}

/**
 * Puts the fragments of streamed calls together. Where a peer says that a call stands is a hint: Gemini numbers all of
 * them 0 or none. An id comes first, then a name; a name that is said again, or an id without one, begins nothing. The
 * names of the tools tell a name that comes in pieces from one that is said again, longer.
 */
export class CallFragments {
  readonly #all: Call[] = [];
  readonly #byPlace = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  readonly #sealer: Sealer;
  readonly #tools: readonly string[];
  #ids: CallIds | undefined;

  constructor(sealer: Sealer, tools: readonly string[]) {
    this.#sealer = sealer;
    this.#tools = tools;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** The answer has more calls than it may have: what follows is not read. */
  get isTooMany(): boolean {
    return this.#all.length > mostCalls;
  }

  /** Reads a fragment; undefined for what only repeats. `take` answers the block of a call that begins. */
  push(fragment: Value, answerId: string, take: () => number): ReadFragment | undefined {
    if (this.isTooMany) return undefined;
    const { name: given, arguments: written } = objectOf(fragment['function']);
    const said = { id: textOf(fragment['id']) ?? '', name: textOf(given) ?? '', input: inputOf(written) };
    const place = numberOf(fragment['index']);
    const there = place === undefined ? this.#all.at(-1) : this.#byPlace.get(place);
    // Of two calls with one id it is the one that stands there.
    const before = there && there.id === said.id ? there : (this.#byId.get(said.id) ?? there);
    const extra = signedExtra(fragment['extra_content']);
    if (before && isRepeat(before, said)) return this.#signed(before, extra, take);
    // A signature may come after its call, alone.
    if (!before && said.id + said.name + said.input === '') return { events: [] };
    const isFirst = !before || begins(before, said, place, this.#tools);
    if (!isFirst && before.isOver && said.name + said.input !== '') return this.#signed(before, extra, take);
    const events = isFirst ? this.#opened() : [];
    this.#ids ??= new CallIds(answerId);
    const call = isFirst ? this.#begin({ ...said, place }, before, take, this.#ids.unique(said.id)) : before;
    if (place !== undefined) this.#byPlace.set(place, call);
    call.extra = extra ?? call.extra;
    if (extra && call.isOpen) events.push(...this.#sealed(call, take()));
    const known = call.name;
    if (!isFirst && !call.isOpen) call.name = nameWith(known, said.name, this.#tools);
    const added = call.name.slice(known.length);
    if (said.input !== '') {
      call.input += said.input;
      call.end.push(said.input);
      // A name may come after the first of the input.
      if (call.name !== '' && !call.isOpen) events.push(...this.#open(call));
      else if (call.isOpen) events.push({ type: 'delta', index: call.index, text: said.input });
    } else if (call.name !== '' && call.input !== '' && !call.isOpen) events.push(...this.#open(call));
    const isKnown = isFirst ? said.id === call.ownId : said.id === '' || said.id === call.ownId;
    // Clients join texts, and take a call without a type for none.
    const isPlain = typeof written !== 'object' && (!isFirst || fragment['type'] === 'function');
    const tellsFirst = !call.isTold;
    call.isTold ||= call.name !== '' && isSettled(call, this.#tools);
    // A call of a tool without a schema has no function, and is its own maker's.
    if (!call.isTold) return isObject(fragment['custom']) ? { events } : { events, isKept: true };
    const saysName = isFirst || said.name === added;
    const isRight = place === call.at && isKnown && isPlain && saysName && tellsFirst === isFirst;
    return { events, ...(!isRight && { mended: mendedOf(fragment, call, tellsFirst ? undefined : added) }) };
  }

  /**
   * The answer is over: what a client of the same protocol is still to be told. Calls that were held back, and the
   * empty input of those without one: clients parse what came. `isCut`: in the middle, so that the last one is none
   * before its input began.
   */
  untold(isCut: boolean): Value[] {
    const last = isCut ? this.#all.at(-1) : undefined;
    return this.#all.flatMap((call) => {
      const { isTold, isOver, name, input, at } = call;
      const none = { arguments: '{}' };
      if (isOver || name === '' || (input === '' ? call === last : isTold)) return [];
      call.isTold = true;
      if (isTold) return [{ index: at, function: none }];
      return [mendedOf(input === '' ? { function: none } : {}, call, undefined)];
    });
  }

  /** The answer is over: opens what its peer said no input of, and closes all; once, however often it is said. */
  end(isCut: boolean): Event[] {
    const opening = isCut ? [] : this.#opened();
    const closing = this.#all.flatMap((call): Event[] => {
      const { index, isOver, isOpen } = call;
      call.isOver = true;
      return isOver || !isOpen ? [] : [{ type: 'close', index }];
    });
    return [...opening, ...closing];
  }

  #opened(): Event[] {
    const last = this.#all.at(-1);
    return last && !last.isOpen ? this.#open(last) : [];
  }

  #open(call: Call): Event[] {
    const { index, ownId: id, name, input } = call;
    call.isOpen = true;
    const opening: Event = { type: 'open', index, block: { type: 'call', id, name } };
    const first = this.#sealed(call, call.sealIndex);
    return [...first, opening, ...(input === '' ? [] : [{ type: 'delta', index, text: input } as const])];
  }

  /** What is new of a call that is said once more: a signature alone. */
  #signed(call: Call, extra: Value | undefined, take: () => number): ReadFragment | undefined {
    if (!extra || isDeepStrictEqual(extra, call.extra)) return undefined;
    call.extra = extra;
    const events = call.isOpen ? this.#sealed(call, take()) : [];
    return { events, ...(call.isTold ? { mended: { index: call.at, extra_content: extra } } : { isKept: true }) };
  }

  #sealed({ extra, ownId: call }: Call, index: number): Event[] {
    const signature = extra && this.#sealer.seal({ call, extra });
    return signature === undefined ? [] : thoughtOnly(index, signature);
  }

  #begin(
    { id, name, place }: Said & Pick<Call, 'place'>,
    before: Call | undefined,
    take: () => number,
    ownId: string,
  ): Call {
    const own = {
      place,
      sealIndex: take(),
      index: take(),
      extra: undefined,
      at: this.#all.length,
      input: '',
      end: new ObjectEnd(),
      isOpen: false,
      isTold: false,
      isOver: false,
    };
    // Input that begins anew without a name is for the same tool once more.
    const call: Call = { ...own, id, ownId, name: name || (id === '' ? (before?.name ?? '') : '') };
    this.#all.push(call);
    if (id !== '') this.#byId.set(id, call);
    return call;
  }
}

type Said = Pick<Call, 'id' | 'name' | 'input'>;

/** A block that is a signature and shows nothing. */
export const thoughtOnly = (index: number, signature: string): Event[] => [
  { type: 'open', index, block: { type: 'thinking' } },
  { type: 'signature', index, signature },
  { type: 'close', index },
];

const begin = (name: string, tools: readonly string[]): boolean => tools.some((tool) => tool.startsWith(name));

/** The name of a call once a fragment says one more: the next piece of it, the same again, or the same and longer. */
function nameWith(before: string, said: string, tools: readonly string[]): string {
  const isTool = tools.includes(before);
  if (said === before && (isTool || !begin(before + said, tools))) return before;
  if (begin(before + said, tools)) return before + said;
  if (before !== '' && said.startsWith(before) && (tools.length === 0 || begin(said, tools))) return said;
  return isTool ? before : before + said;
}

/** Whether no further piece of its name is to be waited for: clients take the first for all of it. */
const isSettled = ({ name, input }: Call, tools: readonly string[]): boolean =>
  input !== '' || tools.includes(name) || !begin(name, tools);

/** Whether a fragment that came to where a call is belongs to another one. */
function begins(call: Call, { id, name, input }: Said, place: number | undefined, tools: readonly string[]): boolean {
  const { isWhole } = call.end;
  // One id for two calls: each says its name where it stands.
  const isElsewhere = place !== undefined && call.place !== undefined && place !== call.place;
  if (isElsewhere && id !== '' && id === call.id && name !== '' && (name !== call.name || input === '')) return true;
  // Some servers give each fragment an id of its own: without a name it is none of a call.
  if (id !== '' && id !== call.id && (name !== '' || (isWhole && input.trim() !== '')) && call.id !== '') return true;
  // Two tools without input, and nothing else that tells them apart.
  const isOther = tools.includes(name) && nameWith(call.name, name, tools) === call.name && name !== call.name;
  if ((id === '' || id === call.id) && call.input === '' && tools.includes(call.name) && isOther) return true;
  // What follows a whole object would make it none.
  return isWhole && ((name !== '' && name !== call.name) || input.trim() !== '');
}

/** The whole call once more, as some say it at its end. */
function isRepeat(call: Call, { id, name, input }: Said): boolean {
  if (!call.end.isWhole || input.trim() === '') return false;
  if ((id === '' ? name !== '' : id !== call.id) || (name !== '' && name !== call.name)) return false;
  if (input === call.input) return true;
  // What follows a whole input is blank: its form stays.
  call.form ??= canonical(call.input);
  return canonical(input) === call.form;
}

const canonical = (input: string): string => JSON.stringify(parsed(input) ?? input);

/** `added`: what is new of a name whose begin was told; undefined: nothing of the call was. */
function mendedOf(fragment: Value, { at, ownId, name, input: whole, extra }: Call, added: string | undefined): Value {
  const { id: _, function: given, ...rest } = fragment;
  const { name: said, arguments: written, ...others } = objectOf(given);
  const input = { ...others, ...(written !== undefined && { arguments: inputOf(written) }) };
  if (added === undefined) {
    // What came before its name is told with it, and so is its signature.
    const sign = extra && { extra_content: extra };
    const first = { ...input, ...(whole !== '' && { arguments: whole }), name };
    return { ...rest, ...sign, index: at, id: ownId, type: 'function', function: first };
  }
  const isNew = said !== undefined && (added !== '' || said === '');
  return { ...rest, index: at, function: { ...input, ...(isNew && { name: added }) } };
}
