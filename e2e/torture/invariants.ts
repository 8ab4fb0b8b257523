import type { Sql } from '../../apps/server/src/kernel/db/db.ts';
import type { Blobs } from '../../apps/server/src/kernel/outside/blobs.ts';
import type { Invariant } from './invariant.ts';
import { hostInvariants } from './invariants.hosts.ts';
import { moneyInvariants } from './invariants.money.ts';
import { peopleInvariants } from './invariants.people.ts';
import { textInvariants } from './invariants.texts.ts';

/** Every invariant of rows. */
export const invariants: readonly Invariant[] = [
  ...hostInvariants,
  ...moneyInvariants,
  ...peopleInvariants,
  ...textInvariants,
];

/** What does not hold, each as a sentence. */
export async function violations(sql: Sql): Promise<string[]> {
  const parts = invariants.map(
    ({ sql: query }, n) => `select ${n} as n, (select to_json(one) from (${query}) one limit 1) as row`,
  );
  const rows = await sql.unsafe<{ n: number; row: unknown }[]>(parts.join('\nunion all\n'), [], { prepare: true });
  return rows.flatMap(({ n, row }) =>
    row === null ? [] : [`broken: ${invariants[n]?.says}: ${JSON.stringify(row).slice(0, 400)}`],
  );
}

/**
 * The same of rows that name blobs, and of blobs. A blob without a row is an error where no sweep looks for one: audio of
 * transcripts that are gone is swept (`transcripts.purge`), and so are unfinished files at a start (`openFileBlobs`, after
 * a day) and pieces of uploads whose row says no size (`uploads.sweep`).
 */
export async function blobViolations(sql: Sql, blobs: Blobs): Promise<string[]> {
  const found: string[] = [];
  const parts = await sql<{ name: string; bytes: number | null }[]>`
    select 'uploads/' || u.account_id || '/' || u.id || '/' || p.start || '-' || p.token as name, p.bytes
    from uploads.parts p join uploads.uploads u on u.id = p.upload_id`;
  const logs = await sql<{ name: string; bytes: number }[]>`
    select 'schedule-logs/' || account_id || '/' || run_id as name, stored_bytes as bytes from scheduler.logs`;
  const artifacts = await sql<{ name: string; bytes: number; scan: string }[]>`
    select 'artifacts/' || id as name, bytes, scan from artifacts.artifacts`;
  for (const { name, bytes } of parts) {
    const size = bytes === null ? null : await blobs.size(name);
    if (size !== bytes) found.push(`broken: a piece of an upload has its bytes in a blob: ${name} ${size} of ${bytes}`);
  }
  for (const { name, bytes } of logs) {
    if (bytes > 0 && ((await blobs.size(name)) ?? 0) < bytes)
      found.push(`broken: a log that is stored has its bytes in a blob: ${name}`);
  }
  const rows = new Set([...parts, ...logs, ...artifacts].map(({ name }) => name));
  for (const prefix of ['uploads/', 'schedule-logs/', 'artifacts/']) {
    for (const name of await blobs.list(prefix)) {
      if (!rows.has(name)) found.push(`broken: a blob has a row that names it: ${name}`);
    }
  }
  return found;
}
