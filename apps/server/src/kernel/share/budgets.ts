import { type Db, nowOf, type Time } from '../db/db.ts';

/** Units that refill evenly: what an account may cause in others, or others in it, over all gateways. */
export interface Budget {
  /** Names it in the database. */
  name: string;
  /** How much is there at most. */
  most: number;
  perMinute: number;
}

/**
 * Rows that an account causes in others (feed: design, strangers): a change of something that two share is one, of something
 * that 200 share 199. Two a second go on for ever.
 */
export const rowsInOthers: Budget = { name: 'rows_in_others', most: 120, perMinute: 120 };

/**
 * Takes units from the budget of `subject`, in the transaction of what they are for; false when it is used up. What costs more
 * than is left is granted while anything is, and owed: else what costs more than `most` would never be.
 */
export async function takeBudget(db: Db, time: Time, budget: Budget, subject: string, units = 1): Promise<boolean> {
  const { name, most, perMinute } = budget;
  const now = nowOf(db, time);
  const refilled = db`least(${most}::float8,
    b.units + greatest(0, extract(epoch from ${now} - b.at)::float8) * ${perMinute / 60}::float8)`;
  const [row] = await db<{ granted: boolean }[]>`
    insert into kernel.budgets as b (name, subject, units, at, granted)
    values (${name}, ${subject}, ${most}::float8 - ${units}::float8, ${now}, true)
    on conflict (name, subject) do update set
      units = ${refilled} - case when ${refilled} >= 1 then ${units}::float8 else 0 end,
      at = greatest(b.at, excluded.at), granted = ${refilled} >= 1
    returning granted`;
  return row?.granted === true;
}
