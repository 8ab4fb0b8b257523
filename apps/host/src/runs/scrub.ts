import { formsOf } from '@svc/http-task/secrets';

/** Takes secret values out of text. */
export interface Scrubber {
  /** `text` with every secret replaced by its name in brackets. */
  all(text: string): string;
  /** The same for text that comes in pieces: a secret may be spread over several. */
  stream(): ScrubStream;
}

/** Text in pieces, without secrets. */
interface ScrubStream {
  /** Text that can be shown so far; holds back the beginning of a secret. */
  push(piece: string): string;
  /** The text that was held back, once nothing more comes. */
  end(): string;
}

/** Makes the scrubber of values by the names they are shown under; `likely` ones are no secrets by what is known. */
export function createScrubber(secrets: ReadonlyMap<string, string>, likely?: ReadonlyMap<string, string>): Scrubber {
  const names = formsOf(secrets, likely);
  // The longest first: of two secrets that begin alike the longer one is meant.
  const values = [...names.keys()].sort((a, b) => b.length - a.length);
  if (values.length === 0) return { all: (text) => text, stream: () => ({ push: (piece) => piece, end: () => '' }) };
  const pattern = new RegExp(values.map((value) => RegExp.escape(value)).join('|'), 'g');
  const all = (text: string) => text.replace(pattern, (value) => `[${names.get(value)}]`);
  return {
    all,
    stream() {
      let held = '';
      return {
        push(piece) {
          const text = held + piece;
          const cut = safeLength(text, values, pattern);
          held = text.slice(cut);
          return all(text.slice(0, cut));
        },
        end() {
          const rest = all(held);
          held = '';
          return rest;
        },
      };
    },
  };
}

/** How much of `text` can go: not what may be the beginning of a secret, nor half of a whole one. */
function safeLength(text: string, values: readonly string[], pattern: RegExp): number {
  const longest = values.reduce((most, value) => Math.max(most, beginningAtEnd(text, value)), 0);
  const cut = text.length - longest;
  if (longest === 0) return cut;
  for (const match of text.matchAll(pattern)) {
    if (match.index < cut && cut < match.index + match[0].length) return match.index;
  }
  return cut;
}

/** Length of the longest end of `text` that `value` goes on from. */
function beginningAtEnd(text: string, value: string): number {
  for (let length = Math.min(value.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(value.slice(0, length))) return length;
  }
  return 0;
}
