import type { Db } from '../../../kernel/db/db.ts';
import type { JobDefinition } from '../../../kernel/feature.ts';
import { plus, readNow } from '../../../kernel/db/instant.ts';
import { type Changed, saveStates } from '../heartbeats.sql.ts';
import type { Flip } from './flips.ts';
import { insertFlips, sweepFlips, trimFlips } from './flips.sql.ts';

/** Flips of a monitor that are kept. */
const mostFlips = 1_000;
/** Trimming at every flip would double the writes. */
const trimEvery = 100;

/** A monitor as it is to be stored, with the changes of its status; `flipSeq` counts those before. */
export type Stepped = Changed & { flips: readonly Flip[] };

/** Stores what the rules made of monitors, with the changes of their status. */
export async function saveSteps(db: Db, stepped: readonly Stepped[]): Promise<void> {
  const ends = stepped.map((one) => ({ ...one, before: one.flipSeq, flipSeq: one.flipSeq + one.flips.length }));
  await saveStates(db, ends);
  const flips = ends.flatMap(({ id, flips: own, before }) =>
    own.map((flip, n) => ({ ...flip, monitorId: id, seq: before + n + 1 })),
  );
  if (flips.length === 0) return;
  await insertFlips(db, flips);
  const full = ends.filter(
    ({ before, flipSeq }) => flipSeq > mostFlips && Math.floor(flipSeq / trimEvery) > Math.floor(before / trimEvery),
  );
  if (full.length === 0) return;
  await trimFlips(
    db,
    full.map(({ id, flipSeq }) => ({ monitorId: id, seq: flipSeq - mostFlips })),
  );
}

/** Ten more than a list can ask for. */
const keptMs = 100 * 86_400_000;

/** Forgets changes of status that are 100 days old. */
export const sweep: JobDefinition = {
  name: 'heartbeats.sweep',
  cron: '37 3 * * *',
  async run({ sql, clock }) {
    await sweepFlips(sql, plus(await readNow(sql, clock), -keptMs).iso);
  },
};
