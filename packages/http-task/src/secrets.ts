/** Shorter values occur by chance: `1` of a switch would blank out every figure. */
const minLength = 4;
/** What was not said to be a secret: `postgres`, `5432`, `true` blanked every such word of a log. */
const minLikely = 8;
/** A line of a longer value (a key file), and a text in a value that is JSON, counts by itself from here on. */
const minLine = 12;
const minText = 8;
/** Of base64 that stands for a value alone, as it does within other bytes. */
const minEncoded = 8;
/** A value of words or of digits alone. */
const isPlain = (value: string): boolean => /^(?:[A-Za-z][a-z]{0,11}|[A-Z]{1,12}|\d{1,7})$/.test(value);

/**
 * What to take out of an output, by the name that stands for it: each value, the parts of it that are secrets by themselves,
 * and both as programs write them. `known` are values that somebody put down as secrets, headers too; `likely` ones (variables of
 * the environment) count where they are of eight characters and no word. At most 4,000: of what is more the values alone.
 */
export function formsOf(
  known: ReadonlyMap<string, string>,
  likely: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const forms = new Map<string, string>();
  const set = (form: string, name: string): void => {
    if (form.length >= minLength && !forms.has(form)) forms.set(form, name);
  };
  const all = [...entriesOf(known, minLength), ...entriesOf(likely, minLikely)];
  // Whole values first: they are never left out.
  for (const { name, value, least } of all) if (counts(value.trim(), least)) set(value.trim(), name);
  for (const { name, value, least } of all)
    for (const part of partsOf(value)) {
      if (forms.size >= mostForms) return forms;
      if (counts(part, least)) for (const form of writingsOf(part)) set(form, name);
    }
  return forms;
}

/** A pattern of more, made from the texts of a value that is JSON, would take seconds. */
const mostForms = 4_000;
const counts = (part: string, least: number): boolean =>
  part.length >= least && !(least === minLikely && isPlain(part));
const entriesOf = (values: ReadonlyMap<string, string>, least: number) =>
  [...values].map(([name, value]) => ({ name, value, least }));

/** A value, its long lines, the texts in it where it is JSON, and the password where it is an address. */
function partsOf(value: string): Set<string> {
  const parts = new Set([value.trim()]);
  for (const line of value.split(/\r?\n/)) if (line.trim().length >= minLine) parts.add(line.trim());
  if (/^\s*[[{]/.test(value)) for (const text of textsIn(parsed(value))) if (text.length >= minText) parts.add(text);
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s]*?:([^/?#\s]+)@/i.exec(value)?.[1];
  if (password !== undefined) parts.add(password).add(decoded(password));
  return parts;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** How programs write a value: plain, as JSON, as Python's `repr`, in an address, a form, XML, base64 and within base64. */
function writingsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const url = encodeURIComponent(value.toWellFormed());
  const xml = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const strict = url.replaceAll(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  return [
    value,
    json,
    json.replaceAll('/', '\\/'),
    ascii,
    value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r'),
    ...[url, strict, url.replaceAll('%20', '+'), strict.replaceAll('%20', '+')].flatMap(bothCases),
    xml,
    xml.replaceAll('"', '&quot;'),
    xml.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    xml.replaceAll('"', '&quot;').replaceAll("'", '&apos;'),
    ...encodedWithin(value),
  ];
}

const bothCases = (url: string): string[] => [url, url.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())];

/** Base64 of a value, whole, and the characters that stand for it alone at each of three places within other bytes. */
function encodedWithin(value: string): string[] {
  const bytes = Buffer.from(value);
  const found = [bytes.toString('base64'), bytes.toString('base64url')];
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    for (const alphabet of ['base64', 'base64url'] as const) {
      const text = shifted.toString(alphabet).slice([0, 2, 3][before], Math.floor((shifted.length * 4) / 3));
      if (text.length >= minEncoded) found.push(text);
    }
  }
  return found;
}
