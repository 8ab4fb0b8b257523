import type { Restored } from '../../kernel/restored.ts';
import { moveExec } from './execs/execs.moves.ts';
import { lockUnfinished } from './execs/execs.sql.ts';
import { dropAllConnections } from './hosts.sql.ts';

const atOnce = 1_000;
const error = 'it was under way when the backup was made';

/** Nobody is connected any more, and what machines were to do by themselves may have been done. */
export const hostsRestored: Restored = async ({ db, now }) => {
  await dropAllConnections(db);
  for (let count = 0; ; ) {
    const some = await lockUnfinished(db, atOnce);
    for (const row of some) await moveExec(db, now, row, 'restore', { error });
    count += some.length;
    if (some.length === 0) return { 'commands under way, now unknown': count };
  }
};
