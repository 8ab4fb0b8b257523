import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { checkQuota, useOf } from '../../../kernel/records/quotas.ts';
import {
  type Charges,
  chargesOf,
  deleteReserve,
  isReserved,
  markCharged,
  recordingQuota,
  reserve,
} from './allowance.sql.ts';

/** The recordings of an account in the month, against its allowance. */
interface Allowance extends Charges {
  readonly limitMs: number;
}

/** Reserves the minutes of a recording that is finalized. Throws 429 when the month has not so many left. */
export async function reserveMinutes(
  { config, clock }: Pick<Kernel, 'config' | 'clock'>,
  tx: Db,
  recording: { transcriptId: string; accountId: string; ms: number },
): Promise<void> {
  await checkQuota(config, tx, recordingQuota, recording.accountId, recording.ms);
  await reserve(tx, clock, recording);
}

/** Reserves them again for a recording whose minutes were given back. Throws 429. */
export async function reserveAgain(
  kernel: Pick<Kernel, 'config' | 'clock'>,
  tx: Db,
  recording: { transcriptId: string; accountId: string; ms: number },
): Promise<void> {
  if (!(await isReserved(tx, recording.transcriptId))) await reserveMinutes(kernel, tx, recording);
}

/** The recording was transcribed: its minutes are used, once, whatever is tried again later. */
export const chargeMinutes = (tx: Db, time: Time, transcriptId: string): Promise<void> =>
  markCharged(tx, nowOf(tx, time), transcriptId);

/** Nothing was heard of it: its minutes are free again. */
export const releaseMinutes = (tx: Db, transcriptId: string): Promise<void> => deleteReserve(tx, transcriptId);

/** How much of the month is used. */
export async function allowanceOf({ config }: Pick<Kernel, 'config'>, db: Db, accountId: string): Promise<Allowance> {
  const { limit } = await useOf(config, db, recordingQuota, accountId);
  return { ...(await chargesOf(db, accountId)), limitMs: limit };
}
