/** A piece of a line with its looks. */
interface Span {
  text: string;
  /** Class names of the sheet, such as `ansi-red ansi-bold`; empty for plain text. */
  look: string;
}

const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
// eslint-disable-next-line no-control-regex
const escape = /\u001b(?:\[([0-9;]*)m|\[[0-9;?]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
/** Marks that turn the direction of what follows: shown, so that a line reads as it is. */
const turns = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;
// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/** The rest of a longer line is not drawn. */
const mostCharacters = 10_000;

const shown = (text: string): string =>
  text.replace(turns, (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase()}]`).replace(controls, '');

/** A line of a terminal as pieces with their colours; every other escape sequence goes. What stands after a carriage return replaces the line. */
export function spansOf(given: string): Span[] {
  const line = lastVersion(given);
  const cut = line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line;
  const spans: Span[] = [];
  let look = new Set<string>();
  let at = 0;
  for (const match of cut.matchAll(escape)) {
    add(spans, cut.slice(at, match.index), look);
    at = match.index + match[0].length;
    if (match[1] !== undefined) look = changed(look, match[1]);
  }
  add(spans, cut.slice(at), look);
  return spans;
}

/** A progress bar writes its line again and again: the last one counts. */
function lastVersion(line: string): string {
  const parts = line.replace(/\r+$/, '').split('\r');
  return parts.at(-1) ?? '';
}

function add(spans: Span[], text: string, look: ReadonlySet<string>): void {
  const seen = shown(text);
  if (seen !== '') spans.push({ text: seen, look: [...look].join(' ') });
}

function changed(before: ReadonlySet<string>, codes: string): Set<string> {
  const look = new Set(before);
  const dropColour = (): void => {
    for (const name of look) if (name !== 'ansi-bold' && name !== 'ansi-dim') look.delete(name);
  };
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) look.clear();
    else if (code === 1) look.add('ansi-bold');
    else if (code === 2) look.add('ansi-dim');
    else if (code === 22) {
      look.delete('ansi-bold');
      look.delete('ansi-dim');
    } else if (code === 39) dropColour();
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      dropColour();
      look.add(`ansi-${colours[code % 10]}`);
    }
  }
  return look;
}

/** Lines of a log, at most so many: the oldest go first. `push` takes text as it comes, in pieces of any size. */
export class LogLines {
  readonly #most: number;
  #lines: string[] = [];
  #open = '';
  /** Lines that went because there were too many. */
  dropped = 0;

  constructor(most = 100_000) {
    this.#most = most;
  }

  get count(): number {
    return this.#lines.length + (this.#open === '' ? 0 : 1);
  }

  at(index: number): string {
    return this.#lines[index] ?? this.#open;
  }

  push(text: string): void {
    const parts = (this.#open + text).split('\n');
    this.#open = parts.pop() ?? '';
    for (const part of parts) this.#lines.push(part);
    const over = this.#lines.length - this.#most;
    // In large steps: taking one from the front of 100,000 costs as much as taking a tenth.
    if (over > this.#most / 10) {
      this.#lines = this.#lines.slice(over);
      this.dropped += over;
    }
  }

  /** Places of lines that hold a text, in any case. */
  find(text: string): number[] {
    const wanted = text.toLowerCase();
    const places: number[] = [];
    for (let at = 0; at < this.count; at += 1) if (this.at(at).toLowerCase().includes(wanted)) places.push(at);
    return places;
  }

  /** All of it. */
  text(): string {
    return [...this.#lines, this.#open].join('\n');
  }
}
