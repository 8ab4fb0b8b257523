import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { type Instant, readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import type { EnvironmentRow } from '../environments.rows.ts';
import { lockEnvironment } from '../environments.sql.ts';
import type { Environments } from '../environments.store.ts';
import { balancePast, budgetOf, chargeOver } from './hours.ts';
import { countTime, environmentsToMeter, mayRun, noteTold } from './hours.sql.ts';

const doer = { accountId: null, kind: 'system', by: bySystem } as const;
const minuteMs = 60_000;
/** Percent of a budget at which its environment's members are told; at the last the machine is stopped. */
const toldAt = [100, 80] as const;

type Parts = Pick<Kernel, 'background' | 'clock' | 'config' | 'log'>;

/**
 * Counts and charges what runs, and stops what may not go on: for its budget, an empty wallet, because nobody works on it, or for
 * its account. Any number of gateways may do it at once: one that is locked is another one's.
 */
export async function meterAll(parts: Parts, environments: Environments): Promise<void> {
  const { background, clock, log } = parts;
  for (const id of await environmentsToMeter(background, clock)) {
    // One that breaks must not hold up the others.
    await inTransaction(background, (tx) => meterOne(tx, parts, environments, id)).catch((err: unknown) =>
      log.error({ err, environment: id }, 'the time of an environment was not charged; it is tried again'),
    );
  }
}

async function meterOne(tx: Db, parts: Parts, environments: Environments, id: string): Promise<void> {
  const row = await lockEnvironment(tx, id, { isPatient: false });
  if (!row) return;
  const now = await readNow(tx, parts.clock);
  await countTime(tx, now.iso, { environmentId: id, accountId: row.account_id, isOver: row.state !== 'running' });
  const isPaid = await chargeOver(tx, parts.config, now, row);
  if (row.state !== 'running') return;
  const reason = await whyStop(tx, parts, environments, { row, now, isPaid });
  if (reason !== undefined) await environments.move(tx, row, 'stop', { reason }, doer);
}

/** Why an environment that runs has to stop; undefined when it may go on. Tells of it. */
async function whyStop(
  tx: Db,
  { config }: Parts,
  environments: Environments,
  { row, now, isPaid }: { row: EnvironmentRow; now: Instant; isPaid: boolean },
): Promise<string | undefined> {
  if (!(await mayRun(tx, row.account_id))) return 'account_suspended';
  const { spent, budget } = await budgetOf(tx, config, now, row);
  if (budget !== null) {
    const percent = toldAt.find((each) => spent >= (budget * each) / 100);
    const month = now.iso.slice(0, 7);
    if (percent !== undefined && (await noteTold(tx, row.id, month, percent)))
      await environments.on.budget(tx, row, { percent, month, spentMicroEur: spent, budgetMicroEur: budget });
    if (percent === 100) return 'budget';
  }
  if (!isPaid || (await balancePast(tx, config, row.account_id)) <= 0) return 'insufficient_balance';
  const idleMs = now.ms - Date.parse(row.last_activity_at ?? row.started_at ?? now.iso);
  if (idleMs < row.idle_timeout_minutes * minuteMs) return undefined;
  await environments.on.stoppedIdle(tx, row, { idleMinutes: Math.floor(idleMs / minuteMs) });
  return 'idle';
}
