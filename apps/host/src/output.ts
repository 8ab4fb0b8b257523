/** Where a command writes. Everything passes through the same cleaning: no key, no control character. */
export interface Output {
  /** A line of data on standard output. */
  line: (text: string) => void;
  /** One JSON value on a line of standard output. */
  json: (value: unknown) => void;
  /** A line for a person on standard error. */
  log: (text: string) => void;
}

// Control and format characters (escape sequences, marks that change the direction of text) and line separators: any
// of them can hide what a line says.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const keyPattern = /\bsvc_[0-9A-Za-z]{38}\b/g;

/** `text` on one line with every character that could deceive a terminal written as `\u{…}`. */
export function printable(text: string): string {
  return text.toWellFormed().replace(unprintable, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** `value` as JSON on one line, with the same characters in the escapes of JSON. */
function printableJson(value: unknown): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(unprintable, (char) => char.split('').map(escaped).join(''));
}

/** Ends this process quietly when nobody reads what it writes any more, as after `| head`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}

/** Removes `key` and anything that looks like a key from `text`. */
function redact(text: string, key?: string): string {
  const known = key ? text.replaceAll(key, '[key]') : text;
  return known.replace(keyPattern, '[key]');
}

/** Makes the output of a command; `key` never gets through it. */
export function createOutput(
  key?: string,
  stdout: NodeJS.WritableStream = process.stdout,
  stderr: NodeJS.WritableStream = process.stderr,
): Output {
  const line = (text: string) => void stdout.write(`${redact(printable(text), key)}\n`);
  return {
    line,
    json: (value) => void stdout.write(`${redact(printableJson(value), key)}\n`),
    log: (text) => void stderr.write(`svc: ${redact(printable(text), key)}\n`),
  };
}
