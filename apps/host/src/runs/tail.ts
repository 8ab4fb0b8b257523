import { ignoring } from '@svc/matching/ignored';
import { createOutputHash } from '@svc/matching/output-hash';
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
  const digest = createOutputHash(ignoring(ignore), Date.now());
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
