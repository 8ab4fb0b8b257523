import { ignoring } from '@svc/matching/ignored';
import { hashText, normalizeLine } from '@svc/matching/output';
import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import type { Scrubber } from './scrub.ts';

/** The end of what a run wrote, fit to be sent. */
export interface OutputTail {
  push(chunk: Buffer): void;
  /** Calls `handler` with all text from now on, as it may be sent. */
  follow(handler: (text: string) => void): void;
  /** Nothing more comes; what `isCut` ends in half a character, and that is left out. */
  end(isCut?: boolean): void;
  /** At most 64 Ki characters (UTF-16 units), well-formed, without NUL and secrets. */
  text(): string;
  /** Hash of everything that was written, normalised; undefined while the tail is everything: the gateway hashes that. */
  hash(): string | undefined;
}

/** Longest `log_tail` of the contract. */
const keepLength = 65_536;

/** Makes the tail of one run; `ignore`: what of its output is no change. */
export function createTail(scrubber: Scrubber, ignore?: readonly string[]): OutputTail {
  const decoder = new StringDecoder('utf8');
  const stream = scrubber.stream();
  const digest = createNormalHash(ignore);
  let tail = '';
  let length = 0;
  let onText: (text: string) => void = () => {};
  const take = (text: string) => {
    // NUL is no text for the gateway's database.
    const clean = text.replaceAll('\u0000', '\uFFFD');
    digest.push(clean);
    length += clean.length;
    if (clean !== '') onText(clean);
    tail = (tail + clean).slice(-keepLength);
  };
  return {
    follow: (handler) => void (onText = handler),
    push: (chunk) => take(stream.push(decoder.write(chunk))),
    end: (isCut = false) => take(stream.push(isCut ? '' : decoder.end()) + stream.end()),
    // A cut may leave the second half of a character.
    text: () => (/^[\uDC00-\uDFFF]/.test(tail) ? tail.slice(1) : tail).toWellFormed(),
    hash: () => (length <= keepLength ? undefined : digest.end()),
  };
}

/** Of a longer output the rest counts as it is: to normalise a MiB takes 0.3 s of the daemon. */
const mostNormal = 4 * 1024 * 1024;
/** A line longer than this is normalised in pieces, so that no output takes memory. */
const pieceLength = 65_536;

/**
 * SHA-256 of text in pieces, line by line with what differs from run to run blanked. Long outputs are compared with
 * each other only, so this need not be the gateway's hash of the same text, but must not depend on how it was cut.
 */
function createNormalHash(ignore: readonly string[] | undefined): { push(text: string): void; end(): string } {
  const hash = createHash('sha256');
  let pending = '';
  const now = Date.now();
  let taken = 0;
  const ignored = ignoring(ignore);
  const take = (line: string) => {
    taken += line.length + 1;
    const normal = taken > mostNormal ? line : normalizeLine(line, now, ignored);
    if (normal !== undefined) hash.update(`${normal}\n`);
  };
  return {
    push(text) {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) for (const piece of pieces(line)) take(piece);
      while (pending.length > pieceLength) {
        take(pending.slice(0, pieceLength));
        pending = pending.slice(pieceLength);
      }
    },
    end() {
      const whole = hash.copy();
      whole.update(taken > mostNormal ? pending : (normalizeLine(pending, now, ignored) ?? ''));
      return hashText(whole.digest('hex'), ignored);
    },
  };
}

function pieces(line: string): string[] {
  if (line.length <= pieceLength) return [line];
  return [line.slice(0, pieceLength), ...pieces(line.slice(pieceLength))];
}
