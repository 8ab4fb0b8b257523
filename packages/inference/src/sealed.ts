import type { Dialect } from './dialect.ts';
import { isObject, objectOf, objectsOf, parsed, textOf, type Value } from './values.ts';

/**
 * What a server of chat completions wants back with a turn and other protocols have no word for, as a signature of a
 * thought: they carry it opaque. Only whoever gave it out gets it back.
 */
interface Sealed {
  /** As the server named it. */
  model: string;
  /** The call that `extra` belongs to; undefined: the whole message. */
  call?: string;
  /** `extra_content`, as Gemini gives it out. */
  extra?: Value;
  /** The field that the thought came in: models of DeepSeek want it back. */
  field?: string;
  /** `reasoning_details`, as OpenRouter gives them out. */
  details?: Value[];
}

const lead = 'svc1.';
/** Letters of all that one answer may want back. */
const mostSealed = 1024 * 1024;

/** Seals what one answer wants back, within its bound; past it nothing is carried. */
export class Sealer {
  model = '';
  #left = mostSealed;

  seal(given: Omit<Sealed, 'model'>): string | undefined {
    const text = JSON.stringify({ model: this.model, ...given });
    if (text.length > this.#left + 1_024) return undefined;
    this.#left -= text.length;
    return lead + Buffer.from(text).toString('base64url');
  }
}

/** Whether a signature is one of these, which no provider of the other protocols takes. */
export const isSealed = (signature: unknown): boolean => typeof signature === 'string' && signature.startsWith(lead);

function unsealed(signature: string | undefined): Sealed | undefined {
  if (signature === undefined || !isSealed(signature)) return undefined;
  const value = parsed(Buffer.from(signature.slice(lead.length), 'base64url').toString());
  if (!isObject(value) || typeof value['model'] !== 'string') return undefined;
  const { model, call, extra, field, details } = value;
  return {
    model,
    ...(typeof call === 'string' && { call }),
    ...(isObject(extra) && { extra }),
    ...((field === 'reasoning' || field === 'reasoning_content') && { field }),
    ...(Array.isArray(details) && { details: objectsOf(details) }),
  };
}

/** `extra_content` that holds a signature; anything else of it nobody wants back. */
export const signedExtra = (value: unknown): Value | undefined =>
  isObject(value) && JSON.stringify(value).includes('signature":') ? value : undefined;

const familyOf = (model: string): string => model.slice(model.lastIndexOf('/') + 1).toLowerCase();

/** Whether a model is the one that gave it out, by the longer or the shorter of its names. */
function isFrom(model: string, given: string): boolean {
  const [own, other] = [familyOf(model), familyOf(given)];
  return own !== '' && other !== '' && (own.startsWith(other) || other.startsWith(own));
}

/** The parts of a message of chat completions that its model wants back. */
export interface Returned {
  /** Fields of the message. */
  fields: Value;
  /** `extra_content` of its calls. */
  extras: ReadonlyMap<string, Value>;
}

/** What a model is to get back of its thoughts; `model` undefined: who asks is a client, and gets all. */
export function returnedOf(
  thoughts: readonly { text: string; signature?: string }[],
  model: string | undefined,
  signatures?: Dialect['signatures'],
): Returned {
  const fields: Record<string, unknown> = {};
  const extras = new Map<string, Value>();
  for (const { text, signature } of thoughts) {
    const sealed = unsealed(signature);
    if (!sealed) continue;
    const { call, extra, field, details } = sealed;
    const isTheirs = model === undefined || isFrom(model, sealed.model);
    if (extra && (isTheirs || signatures !== undefined)) {
      if (call === undefined) fields['extra_content'] = extra;
      else extras.set(call, extra);
    }
    if (!isTheirs) continue;
    if (details) fields['reasoning_details'] = [...objectsOf(fields['reasoning_details']), ...details];
    if (field !== undefined) fields[field] = (textOf(fields[field]) ?? '') + text;
  }
  return { fields, extras };
}

/** Google's documented word for a call that none of its models made, or whose signature is lost. */
const placeholder = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** The messages with placeholders, or nothing where none is missing. */
export function missingSignatures(given: unknown): { messages?: Value[] } {
  const messages = objectsOf(given);
  const signed = withPlaceholders(messages);
  return signed.some((one, at) => one !== messages[at]) ? { messages: signed } : {};
}

/** Messages of chat completions in which the first call of each turn has a signature, as models of Google want it. */
export const withPlaceholders = (messages: readonly Value[]): Value[] =>
  messages.map((message) => {
    const [first, ...rest] = objectsOf(message['tool_calls']);
    if (!first || signedExtra(first['extra_content'])) return message;
    const extra = { ...objectOf(first['extra_content']), ...placeholder };
    return { ...message, tool_calls: [{ ...first, extra_content: extra }, ...rest] };
  });

/**
 * Joins the pieces in which `reasoning_details` are streamed: text of one entry comes in many. Past the bound it
 * keeps none.
 */
export class Details {
  #all: Value[] = [];
  #letters = 0;

  push(more: readonly Value[]): void {
    for (const one of more) {
      this.#letters += JSON.stringify(one).length;
      if (this.#letters > mostSealed) this.#all = [];
      else this.#join(one);
    }
  }

  /** What came since it was asked last. */
  take(): Value[] | undefined {
    const all = this.#all;
    this.#all = [];
    return all.length === 0 ? undefined : all;
  }

  #join(one: Value): void {
    const last = this.#all.at(-1);
    const isSame = ['type', 'index', 'id'].every((name) => last?.[name] === one[name]);
    const name = ['text', 'summary', 'data'].find((field) => textOf(one[field]) !== undefined);
    if (!last || !isSame || (name === undefined && one['signature'] === undefined)) {
      this.#all.push(one);
      return;
    }
    const joined = name === undefined ? {} : { [name]: (textOf(last[name]) ?? '') + (textOf(one[name]) ?? '') };
    this.#all[this.#all.length - 1] = { ...last, ...one, ...joined };
  }
}
