import type { Restored } from '../../kernel/restored.ts';
import { moved } from './heartbeats.moves.ts';
import { lockWatched, stateOf } from './heartbeats.sql.ts';
import { saveSteps } from './history/keep.ts';
import { flipsThrough } from './history/flips.ts';

const atOnce = 500;
const real = { instant: () => null };

/** Watches anew from now on: pings of the time that was lost came, and nobody has them. One that was down stays down. */
export const heartbeatsRestored: Restored = async ({ db, now }) => {
  let count = 0;
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await lockWatched(db, real, after, atOnce);
    const last = rows.at(-1);
    if (last === undefined) return { 'monitors, watched anew': count };
    const steps = rows.flatMap((row) => {
      const before = stateOf(row);
      const state = moved('rearm', before, undefined, now.ms);
      const { id, ping_seq: pingSeq, flip_seq: flipSeq } = row;
      return state ? [{ id, pingSeq, flipSeq, state, flips: flipsThrough(now.ms, before, state) }] : [];
    });
    await saveSteps(db, steps);
    count += steps.length;
    after = last.id;
  }
};
