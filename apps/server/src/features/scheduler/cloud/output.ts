import { lastWhole } from '@svc/contract';
import { ignoring } from '@svc/matching/ignored';
import { createOutputHash } from '@svc/matching/output-hash';
import { inSlices } from '../../../kernel/base/slices.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { effective, findSchedule } from '../../schedules/index.ts';
import type { RunRow } from '../scheduler.sql.ts';

const keptBytes = 65_536;
/** Normalised at once: a line of 1 MiB in one piece would hold the thread for up to 0.8 s. */
const pieceLength = 2_048;

/** The end of an output as text that the database can hold. */
export function tailOf(output: Buffer): string {
  return lastWhole(output, keptBytes).toString('utf8').replaceAll('\u0000', '').toWellFormed();
}

/**
 * The hash by which a change of a long output is found, as hosts send it of theirs. Undefined for an output that its
 * tail holds whole (the tail is compared), and where the schedule does not tell of changes.
 */
export async function outputHashOf(
  { sql, clock }: Pick<Kernel, 'sql' | 'clock'>,
  run: Pick<RunRow, 'account_id' | 'schedule_id'>,
  output: Buffer,
): Promise<string | undefined> {
  if (output.length <= keptBytes) return undefined;
  const schedule = await findSchedule(sql, run.account_id, run.schedule_id);
  if (!schedule || effective(schedule).notify !== 'on_change') return undefined;
  const hash = createOutputHash(ignoring(schedule.ignore), clock.now(), pieceLength);
  const text = output.toString('utf8');
  await inSlices(
    (function* () {
      for (let at = 0; at < text.length; at += pieceLength) yield hash.push(text.slice(at, at + pieceLength));
    })(),
  );
  return hash.end();
}
