import { ApiError } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import type { Instant } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { balanceOf, debit } from '../../wallet/index.ts';
import type { EnvironmentRow } from '../environments.rows.ts';
import { chargeHour, hoursToCharge, lockUnpaidHours, monthOf, noteIncluded, openCosts, payLate } from './hours.sql.ts';

const hourSeconds = 3_600;

type Config = Pick<Kernel['config'], 'billing' | 'environmentIncludedHours'>;

/** Seconds a month that an environment costs nothing. */
const includedOf = ({ environmentIncludedHours: hours }: Config): number => hours * hourSeconds;

const priceOf = (
  seconds: number,
  { hourly_rate_micro_eur: rate }: Pick<EnvironmentRow, 'hourly_rate_micro_eur'>,
): number => Math.round((seconds * (rate ?? 0)) / hourSeconds);

/** Charges the hours of a locked environment that are over; false when the wallet could not pay one. */
export async function chargeOver(tx: Db, config: Config, now: Instant, row: EnvironmentRow): Promise<boolean> {
  let isPaid = true;
  for (const hour of await hoursToCharge(tx, now.iso, row.id)) {
    const before = await monthOf(tx, hour.starts_at, row.id);
    const included = Math.min(hour.seconds, Math.max(0, includedOf(config) - before.included));
    const charge = config.billing ? priceOf(hour.seconds - included, row) : 0;
    const wasPaid = await pay(tx, { ...hour, environment_id: row.id, charged_micro_eur: charge });
    const written = { environmentId: row.id, startsAt: hour.starts_at, included, charge, isPaid: wasPaid };
    await chargeHour(tx, now.iso, written);
    isPaid &&= wasPaid;
  }
  await noteIncluded(tx, row.id, (await monthOf(tx, now.iso, row.id)).included);
  return isPaid;
}

/** Takes the charge of an hour from the wallet, once; false when it does not hold enough. */
async function pay(
  tx: Db,
  hour: { environment_id: string; account_id: string; starts_at: string; charged_micro_eur: number },
): Promise<boolean> {
  const { environment_id: id, account_id: accountId, starts_at: at, charged_micro_eur: amountMicroEur } = hour;
  if (amountMicroEur === 0) return true;
  const note = `environment ${id}, the hour from ${at}`;
  return debit(tx, { accountId, amountMicroEur, sourceKey: `environment_charge:${id}:${at}`, note });
}

/** What a locked environment cost this month so far, in micro-euro, and the cap; null: none. */
export async function budgetOf(
  tx: Db,
  config: Config,
  now: Instant,
  row: EnvironmentRow,
): Promise<{ spent: number; budget: number | null }> {
  const { charged, included, open } = await monthOf(tx, now.iso, row.id);
  const free = Math.max(0, includedOf(config) - included);
  const { budget_micro_eur: budget } = row.metadata;
  const spent = priceOf(charged - included + Math.max(0, open - free), row);
  return { spent, budget: typeof budget === 'number' ? budget : null };
}

/** What the wallet of an account holds past the hours that are not charged yet; infinite where nothing is charged. */
export async function balancePast(tx: Db, config: Config, accountId: string): Promise<number> {
  if (!config.billing) return Number.POSITIVE_INFINITY;
  return (await balanceOf(tx, accountId)) - (await openCosts(tx, accountId, includedOf(config)));
}

/** Throws 402 while hours of an account are unpaid, or its wallet does not hold one more at this rate. */
export async function checkHour(
  tx: Db,
  config: Config,
  now: Instant,
  { account_id: accountId, hourly_rate_micro_eur: rate }: Pick<EnvironmentRow, 'account_id' | 'hourly_rate_micro_eur'>,
): Promise<void> {
  if (!config.billing) return;
  let owed = 0;
  for (const hour of await lockUnpaidHours(tx, accountId)) {
    const { environment_id: environmentId, starts_at: startsAt, charged_micro_eur: charge } = hour;
    if (owed > 0 || !(await pay(tx, { ...hour, account_id: accountId }))) owed += charge;
    else await payLate(tx, now.iso, { environmentId, startsAt });
  }
  const refuse = (message: string) =>
    new ApiError('insufficient_balance', message, { beside: { unpaid_micro_eur: owed } });
  if (owed > 0) throw refuse(`earlier hours are unpaid: add at least ${owed} micro-euro to the wallet`);
  const balance = await balancePast(tx, config, accountId);
  if (balance < (rate ?? 0))
    throw refuse(`an hour costs ${rate} micro-euro, and the wallet has ${Math.max(0, balance)} left`);
}
