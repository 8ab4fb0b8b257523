import { withoutPartial } from '@svc/contract';

/** Bytes as text that fits into a result. */
interface Decoded {
  text: string;
  /** How many of the bytes `text` stands for. */
  bytes: number;
}

/**
 * Decodes UTF-8 (what is not becomes U+FFFD) and keeps the beginning when its JSON would be longer than `maxJson`
 * bytes: a control character takes six. With `cut` the bytes end in the middle of something, and half a character at
 * their end is left out.
 */
export function decodeWithin(buffer: Buffer, maxJson: number, cut: boolean): Decoded {
  let kept = cut ? withoutPartial(buffer) : buffer;
  for (;;) {
    const text = kept.toString('utf8');
    // A UTF-16 unit takes at most six bytes of JSON.
    if (text.length * 6 <= maxJson || Buffer.byteLength(JSON.stringify(text)) <= maxJson) {
      return { text, bytes: kept.length };
    }
    kept = withoutPartial(kept.subarray(0, kept.length >> 1));
  }
}

/** What ended with a command, said behind how it ended; nothing where the system does not tell. */
export const endedText = (processes: number | undefined): string =>
  processes === undefined ? '' : `; ${processes} ${processes === 1 ? 'process' : 'processes'} ended`;
