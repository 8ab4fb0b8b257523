import type { Restored } from '../../kernel/restored.ts';
import { moveLaunch } from './prompts.launches.moves.ts';
import { lockUnbegun } from './prompts.launches.sql.ts';
import { disarmLaunches } from './prompts.sql.ts';

const atOnce = 1_000;

/** What was to be sent, or to launch itself, may have been: a person launches it again. */
export const promptsRestored: Restored = async ({ db, now }) => {
  const disarmed = await disarmLaunches(db, now.iso);
  for (let count = 0; ; ) {
    const some = await lockUnbegun(db, atOnce);
    for (const row of some) await moveLaunch(db, now, row, 'withdraw', {});
    count += some.length;
    if (some.length === 0)
      return { 'launches of prompts, withdrawn': count, 'prompts that were to launch themselves, kept': disarmed };
  }
};
