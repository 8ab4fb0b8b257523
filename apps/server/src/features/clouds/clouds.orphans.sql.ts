import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import type { CloudEntry } from './clouds.file.ts';

type Place = Pick<CloudEntry, 'provider' | 'region'>;

/** Of each environment with a row at a provider the id of its machine; null: it is not known, or there is none. */
export async function refsOf(db: Db, { provider, region }: Place): Promise<Map<string, string | null>> {
  const rows = await db<{ environment_id: string; ref: string | null }[]>`
    select environment_id, ref from clouds.machines where provider = ${provider} and region = ${region}`;
  return new Map(rows.map((row) => [row.environment_id, row.ref]));
}

/** Remembers machines that no environment has; answers those that were found ten minutes ago too. */
export async function keepOrphans(
  db: Db,
  time: Time,
  { provider, region }: Place,
  refs: readonly string[],
): Promise<string[]> {
  await db`
    delete from clouds.orphans
    where provider = ${provider} and region = ${region} and not (ref = any(${[...refs]}::text[]))`;
  const rows = await db<{ ref: string; is_old: boolean }[]>`
    insert into clouds.orphans as o (provider, region, ref, seen_at)
    select ${provider}, ${region}, ref, ${nowOf(db, time)} from unnest(${[...refs]}::text[]) as ref
    on conflict (provider, region, ref) do update set seen_at = o.seen_at
    returning ref, seen_at <= ${nowOf(db, time)} - interval '10 minutes' as is_old`;
  return rows.filter((row) => row.is_old).map(({ ref }) => ref);
}

/** Forgets a machine that was deleted. */
export async function deleteOrphan(db: Db, { provider, region }: Place, ref: string): Promise<void> {
  await db`delete from clouds.orphans where provider = ${provider} and region = ${region} and ref = ${ref}`;
}
