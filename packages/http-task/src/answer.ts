import { withoutPartial } from '@svc/contract';
import { isPlainHeader, type KeptBody } from './hops.ts';
import { formsOf } from './secrets.ts';

type Headers = Readonly<Record<string, string>>;

/** Of a value that an answer was cut in, this much at its end is taken for its beginning. */
const shortestBeginning = 4;

/**
 * The text of an answer as it is kept. If a server echoes the request, readers of runs must not see the header values that were
 * sent: each is replaced by its name in brackets, in whatever writing, and so is what follows a scheme such as `Bearer`.
 */
export function textOf({ body, truncated }: KeptBody, headers: Headers): string {
  const names = spellingsOf(headers);
  const spellings = [...names.keys()].sort((a, b) => b.length - a.length);
  // Byte by byte: an answer need not be text.
  let text = body.toString('latin1');
  if (spellings.length > 0) {
    const pattern = new RegExp(spellings.map((spelling) => RegExp.escape(spelling)).join('|'), 'g');
    text = text.replace(pattern, (spelling) => `[${names.get(spelling)}]`);
  }
  if (truncated) text = withoutBeginning(text, spellings);
  const plain = Buffer.from(text, 'latin1');
  // NUL is no text for the database.
  return (truncated ? withoutPartial(plain) : plain).toString('utf8').replaceAll('\u0000', '\uFFFD');
}

/** Ways to write the values of headers, one character a byte, by the names they are shown under. */
function spellingsOf(headers: Headers): Map<string, string> {
  const secrets = Object.entries(headers)
    .filter(([name]) => !isPlainHeader(name))
    .flatMap(([name, value]): [string, string][] => [
      [name, value],
      [`${name}: …`, value.trim().split(' ').at(-1) ?? ''],
    ]);
  const spellings = new Map<string, string>();
  for (const [form, name] of formsOf(new Map(secrets))) {
    const shown = Buffer.from(name).toString('latin1');
    // Headers are sent one byte a character, and echoed so, or as UTF-8.
    for (const spelling of [form, Buffer.from(form).toString('latin1')])
      if (!spellings.has(spelling)) spellings.set(spelling, shown);
  }
  return spellings;
}

/** `text` without the longest beginning of a value that it ends with. */
function withoutBeginning(text: string, values: readonly string[]): string {
  const lengths = values.map((value) => {
    for (let n = Math.min(value.length - 1, text.length); n >= shortestBeginning; n -= 1)
      if (text.endsWith(value.slice(0, n))) return n;
    return 0;
  });
  return text.slice(0, text.length - Math.max(0, ...lengths));
}
