import { countHeld, dropHeld, releaseHeld } from '../features/notifications/index.ts';
import { listNodesAhead, takeNodesOver } from '../features/sandboxes/index.ts';
import { confirmHome, findOriginal } from '../home.ts';
import type { Admin } from '../kernel/commands.ts';
import { inTransaction } from '../kernel/db/db.ts';
import { readFact } from '../kernel/db/facts.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { byCommand, writeAct } from '../kernel/records/audit.ts';
import { unconfirmedFact } from '../kernel/restored.ts';
import { findDataDir } from '../postgres/datadir.ts';
import { findRunningProcesses } from '../running.ts';
import { deleteFact } from './database.sql.ts';

/** The end of a restore. */
interface Confirmed {
  /** When the backup was made; null: it was no restore, or it was confirmed. */
  backup_of: string | null;
  /** Where the platform is that this one is a copy of. */
  copy_of: string | null;
  /** Nodes that serve another platform with the same data. */
  nodes_ahead: number;
  /** Deliveries that wait for a person, by channel. */
  held: Record<string, number>;
  /** What was done with them; null: nothing yet. */
  outcome: 'sent' | 'dropped' | null;
}

/**
 * Ends what a restore or a copy holds: deliveries of before the backup that may have gone out since, and nodes that serve
 * another platform with the same data, which are taken from it. Without `how` it only tells. Throws `CommandError` when nothing
 * waits for it, and where the platform that this one is a copy of runs.
 */
export async function confirmRestore({ sql, config }: Admin, how?: 'send' | 'drop'): Promise<Confirmed> {
  return inTransaction(sql, async (db) => {
    const [at, copyOf, ahead] = [await readFact(db, unconfirmedFact), await findOriginal(db), await listNodesAhead(db)];
    if (!at && copyOf === undefined && ahead.length === 0)
      throw new CommandError('no restore waits for this: nothing is held');
    const held = Object.fromEntries((await countHeld(db)).map(({ channel, waiting }) => [channel, waiting]));
    const found = { backup_of: at?.toString() ?? null, copy_of: copyOf ?? null, nodes_ahead: ahead.length, held };
    if (how === undefined) return { ...found, outcome: null };
    if (copyOf !== undefined && findRunningProcesses(copyOf).length > 0)
      throw new CommandError(`the platform in ${copyOf} still runs: end it first (./svc stop --data-dir ${copyOf})`);
    const count = how === 'send' ? await releaseHeld(db) : await dropHeld(db);
    await deleteFact(db, unconfirmedFact);
    await takeNodesOver(db);
    if (copyOf !== undefined) await confirmHome(db, findDataDir(config));
    const details = { how, count, nodes: ahead.length, copy_of: copyOf };
    await writeAct(db, { accountId: null, by: byCommand, action: 'platform.confirmRestore', details });
    return { ...found, outcome: how === 'send' ? 'sent' : 'dropped' };
  });
}
