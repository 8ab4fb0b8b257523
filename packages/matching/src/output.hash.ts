import { createHash } from 'node:crypto';
import type { Ignored } from './ignored.ts';
import { hashText, normalizeLine } from './output.ts';

/** Of a longer output the rest counts as it is: to normalise a MiB takes 0.3 s. */
const mostNormal = 4 * 1024 * 1024;
/** A line longer than this is normalised in pieces, so that no output takes memory. */
const usualPiece = 65_536;

/**
 * SHA-256 of text in pieces, line by line with what differs from run to run blanked; `now` in milliseconds since the
 * epoch. Long outputs are compared with each other only: it need not be the hash of `normalizeOutput`, but must not depend
 * on how the text was cut. `pieceLength`: how much of a line is normalised at once, the same for all that are compared.
 */
export function createOutputHash(
  ignored: Ignored | undefined,
  now: number,
  pieceLength = usualPiece,
): { push(text: string): void; end(): string } {
  const hash = createHash('sha256');
  let pending = '';
  let taken = 0;
  const take = (line: string) => {
    taken += line.length + 1;
    const normal = taken > mostNormal ? line : normalizeLine(line, now, ignored);
    if (normal !== undefined) hash.update(`${normal}\n`);
  };
  return {
    push(text) {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) for (const piece of pieces(line, pieceLength)) take(piece);
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

function pieces(line: string, length: number): string[] {
  if (line.length <= length) return [line];
  return [line.slice(0, length), ...pieces(line.slice(length), length)];
}
