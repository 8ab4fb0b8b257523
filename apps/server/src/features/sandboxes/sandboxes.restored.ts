import { systemClock } from '../../kernel/base/clock.ts';
import { bySystem } from '../../kernel/records/audit.ts';
import type { Restored } from '../../kernel/restored.ts';
import { forgetCreation, moveIn } from './sandboxes.moves.ts';
import { forgetIncarnations } from './nodes/clones.sql.ts';
import { listAllLive } from './sandboxes.sql.ts';

/**
 * No process of a sandbox came along: what ran is paused with its files since the backup, so that no lifetime passed since, and
 * what has no snapshots is over. One that the backup did not hold is found missing by its node.
 */
export const sandboxesRestored: Restored = async ({ db, backedUpAt }) => {
  const then = { clock: { ...systemClock, instant: () => backedUpAt.iso } };
  const given = { by: bySystem, at: backedUpAt.iso };
  let [paused, ended] = [0, 0];
  await forgetIncarnations(db);
  for (const { id, state, backend } of await listAllLive(db)) {
    if (state === 'creating') await forgetCreation(db, id);
    else if (backend === 'v1') ended += (await moveIn(db, then, id, 'stop', { ...given, reason: 'node_lost' })) ? 1 : 0;
    else if (state === 'resuming') await moveIn(db, then, id, 'keepPaused', given);
    else if (state !== 'paused') paused += (await moveIn(db, then, id, 'paused', given)) ? 1 : 0;
  }
  return { 'sandboxes that ran, paused with their files': paused, 'v1 sandboxes, ended': ended };
};
