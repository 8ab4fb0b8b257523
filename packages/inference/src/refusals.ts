import type { Event } from './model.ts';
import { isObject, objectOf, parsed, textOf, type Value } from './values.ts';

/** A provider's own words for a refusal. */
export interface RefusalWords {
  message: string;
  code?: string;
  type?: string;
  /** The field at fault. */
  param?: string;
}

/** Names under which providers say why, the plainest first; `error` may be the text itself. */
const names = ['message', 'msg', 'detail', 'status_msg', 'reason', 'error_msg', 'err_msg', 'error_message', 'error'];
/** Names of what holds them, beside these. */
const holders = ['errors', 'base_resp', 'data'];
const deepest = 2;
const longestMessage = 2_000;
const longestText = 300;
const longestWord = 120;

/** A provider's words in an answer of any shape; undefined for none, and for a page. */
export function refusalIn(text: string): RefusalWords | undefined {
  const body = parsed(text);
  if (isObject(body) || Array.isArray(body)) return refusalOf(body);
  const plain = typeof body === 'string' ? body : text;
  return beginOf(plain);
}

/** The begin of a text. */
function beginOf(plain: string): RefusalWords | undefined {
  // A page of a proxy in front: nobody reads it, and its address is not for everybody.
  if (/^\s*</.test(plain) || /<(?:!doctype|html|head|body)\b/i.test(plain)) return undefined;
  const message = cut(plain, longestText);
  return message === '' ? undefined : { message };
}

/** A provider's words in a value that was read; where they have a name that nobody knows, the begin of it all. */
export function refusalOf(body: unknown): RefusalWords | undefined {
  const isEmpty = typeof body !== 'object' || body === null || Object.keys(body).length === 0;
  return knownOf(body) ?? (isEmpty ? undefined : beginOf(JSON.stringify(body)));
}

function knownOf(body: unknown): RefusalWords | undefined {
  let level: { value: Value; above: Value }[] = held(body, {});
  for (let depth = 0; depth <= deepest && level.length > 0; depth++) {
    for (const { value, above } of level) {
      const message = messageIn(value);
      if (message !== undefined) return { message, ...wordsOf(value, above) };
    }
    level = level.flatMap(({ value }) => [...names, ...holders].flatMap((name) => held(fieldOf(value, name), value)));
  }
  return undefined;
}

/** Objects that a value is or holds; a text in a list counts as a message. */
function held(value: unknown, above: Value): { value: Value; above: Value }[] {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.slice(0, 5).flatMap((one) => {
    if (isObject(one)) return [{ value: one, above }];
    return Array.isArray(value) && typeof one === 'string' ? [{ value: { message: one }, above }] : [];
  });
}

/** Bedrock writes `Message`. */
const fieldOf = (value: Value, name: string): unknown => value[name] ?? value[name[0]?.toUpperCase() + name.slice(1)];

function messageIn(value: Value): string | undefined {
  for (const name of names) {
    const text = cut(textOf(fieldOf(value, name)) ?? '', longestMessage);
    if (text !== '') return placeOf(value) + text;
  }
  return undefined;
}

/** FastAPI says where: `["body", "messages", 0, "content"]`. */
function placeOf({ loc }: Value): string {
  if (!Array.isArray(loc)) return '';
  const parts = (loc as unknown[]).filter((part) => typeof part === 'string' || typeof part === 'number');
  const path = parts.slice(parts[0] === 'body' ? 1 : 0).join('.');
  return path === '' ? '' : `${path.slice(0, longestWord)}: `;
}

/** Where clients of OpenAI and of Anthropic look: beside the message, else above it. */
function wordsOf(value: Value, above: Value): Omit<RefusalWords, 'message'> {
  const word = (name: string): string | undefined =>
    [value, above].map((one) => cut(textOf(one[name]) ?? '', longestWord)).find((one) => one !== '');
  const [code, type, param] = [word('code'), word('type'), word('param')];
  return { ...(code && { code }), ...(type && { type }), ...(param && { param }) };
}

const cut = (text: string, most: number): string => text.trim().slice(0, most).toWellFormed();

/** Whether a frame or an answer says that it failed, in place of what its protocol has. */
export function isFailure(body: unknown): boolean {
  if (Array.isArray(body)) return isFailure((body as unknown[])[0]);
  const value = objectOf(body);
  const has = (name: string): boolean => value[name] !== undefined && value[name] !== null && value[name] !== '';
  if (has('error')) return true;
  // MiniMax says zero of what went well.
  const { status_code: status } = objectOf(value['base_resp']);
  if (typeof status === 'number' && status !== 0) return true;
  const isAnswer = ['choices', 'content', 'output', 'usage'].some(has);
  return !isAnswer && ['detail', 'errors', 'msg', 'message', 'Message'].some(has);
}

/** A frame that says that the answer failed, as the last word of a stream. */
export function failureOf(body: unknown): Event {
  const { message = 'the upstream failed', type, code } = refusalOf(body) ?? {};
  const kind = type ?? code;
  return { type: 'error', message, ...(kind !== undefined && { kind }) };
}

/** The text without secrets: of two that begin alike the longer one first, or the end of it would be told. */
export const masked = (text: string, secrets: readonly (string | undefined)[]): string =>
  [...new Set(secrets)]
    .filter((secret): secret is string => secret !== undefined && secret !== '')
    .sort((a, b) => b.length - a.length)
    .reduce((said, secret) => said.replaceAll(secret, '***'), text);
