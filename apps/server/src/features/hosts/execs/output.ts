import type { Kernel } from '../../../kernel/kernel.ts';
import { listOutput } from './execs.sql.ts';

/** Bytes of a command's output that are kept. */
export const mostOutputBytes = 10 * 2 ** 20;
const partsAtOnce = 4;

/** The output of a command from a byte on, piece by piece. */
export async function* readOutput({ sql }: Pick<Kernel, 'sql'>, id: string, from: number): AsyncGenerator<Buffer> {
  for (let at = from; ; ) {
    const parts = await listOutput(sql, id, at, partsAtOnce);
    for (const part of parts) {
      yield part.body.subarray(at - part.at);
      at = part.at + part.body.length;
    }
    if (parts.length < partsAtOnce) return;
  }
}

/** The part of a piece, whose first byte is at `offset`, that is new and kept; `cut` when there is more than is kept. */
export function freshOf(here: number, offset: number, piece: Uint8Array): { added: Uint8Array; cut: boolean } {
  // What leaves a gap is passed over, as what was here before: the answer says where to go on.
  const fresh = offset > here ? piece.subarray(0, 0) : piece.subarray(Math.min(here - offset, piece.length));
  const room = mostOutputBytes - here;
  return { added: fresh.subarray(0, room), cut: fresh.length > room };
}
