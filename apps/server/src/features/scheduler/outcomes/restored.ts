import type { Restored } from '../../../kernel/restored.ts';
import { noteAttempt } from '../attempts/attempts.ts';
import { move } from '../scheduler.moves.ts';
import { changeRun, lockUnasked } from '../scheduler.sql.ts';

const atOnce = 1_000;

/** Ends the runs that were under way. Nobody is alerted: who restores reads how many there are. */
export const schedulerRestored: Restored = async ({ db, now }) => {
  const restore = move('restore');
  for (let count = 0; ; ) {
    const some = await lockUnasked(db, atOnce);
    for (const run of some) {
      const change = restore(run, now);
      if (!change) throw new Error(`run ${run.id} is ${run.state}`);
      await noteAttempt(db, run, await changeRun(db, run, change), now);
    }
    count += some.length;
    if (some.length === 0) return { 'runs under way, now unknown': count };
  }
};
