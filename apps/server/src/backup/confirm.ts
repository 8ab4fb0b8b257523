import { countHeld, dropHeld, releaseHeld } from '../features/notifications/index.ts';
import type { Admin } from '../kernel/commands.ts';
import { inTransaction } from '../kernel/db/db.ts';
import { readFact } from '../kernel/db/facts.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { byCommand, writeAct } from '../kernel/records/audit.ts';
import { unconfirmedFact } from '../kernel/restored.ts';
import { deleteFact } from './database.sql.ts';

/** The end of a restore. */
interface Confirmed {
  backup_of: string;
  /** Deliveries that wait for a person, by channel. */
  held: Record<string, number>;
  /** What was done with them; null: nothing yet. */
  outcome: 'sent' | 'dropped' | null;
}

/**
 * Ends what a restore holds: deliveries of before the backup that may have gone out since. Without `how` it only tells. Throws
 * `CommandError` when no restore waits for it.
 */
export async function confirmRestore({ sql }: Admin, how?: 'send' | 'drop'): Promise<Confirmed> {
  return inTransaction(sql, async (db) => {
    const at = await readFact(db, unconfirmedFact);
    if (!at) throw new CommandError('no restore waits for this: nothing is held');
    const held = Object.fromEntries((await countHeld(db)).map(({ channel, waiting }) => [channel, waiting]));
    if (how === undefined) return { backup_of: at.toString(), held, outcome: null };
    const count = how === 'send' ? await releaseHeld(db) : await dropHeld(db);
    await deleteFact(db, unconfirmedFact);
    const details = { how, count };
    await writeAct(db, { accountId: null, by: byCommand, action: 'platform.confirmRestore', details });
    return { backup_of: at.toString(), held, outcome: how === 'send' ? 'sent' : 'dropped' };
  });
}
