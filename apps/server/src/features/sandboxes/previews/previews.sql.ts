import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';
import { sandboxStates } from '../sandboxes.states.ts';

/** An address that is valid. */
interface PreviewRow {
  sandbox_id: string;
  account_id: string;
  port: number;
  expires_at: string;
}

/** A valid address that is asked for. */
type FoundPreview = PreviewRow & { left_ms: number; node_id: string | null };

/** Stores an address. */
export async function insertPreview(
  db: Db,
  time: Time,
  preview: { tokenHash: Buffer; accountId: string; keyId: string; sandboxId: string; port: number; ttlSeconds: number },
): Promise<PreviewRow> {
  const { tokenHash, accountId, keyId, sandboxId, port, ttlSeconds } = preview;
  const [row] = await db<PreviewRow[]>`
    insert into sandboxes.previews (token_hash, account_id, key_id, sandbox_id, port, expires_at)
    values (${tokenHash}, ${accountId}, ${keyId}, ${sandboxId}, ${port},
      date_trunc('milliseconds', ${nowOf(db, time)}) + make_interval(secs => ${ttlSeconds}))
    returning sandbox_id, account_id, port, expires_at`;
  return row as PreviewRow;
}

/**
 * The preview of a token, while it is valid, its account may run and the key that made it may be used; with the
 * milliseconds it has left, and the node that holds its sandbox (null: it does not run).
 */
export async function findPreview(db: Db, time: Time, tokenHash: Buffer) {
  const [row] = await db<FoundPreview[]>`
    select sandbox_id, account_id, port, expires_at,
      (select s.node_id from sandboxes.sandboxes s where s.id = p.sandbox_id and s.state = 'running'),
      floor(extract(epoch from expires_at - ${nowOf(db, time)}) * 1000)::bigint as left_ms
    from sandboxes.previews p where token_hash = ${tokenHash} and ${isValid(db, time)}`;
  return row;
}

/**
 * Which of these (token hashes in hex) are valid and of a sandbox that is not over. What is open is held against this now
 * and then; a request against `findPreview`.
 */
export async function validPreviews(db: Db, time: Time, hashes: readonly string[]): Promise<string[]> {
  const rows = await db<{ hash: string }[]>`
    select encode(token_hash, 'hex') as hash
    from sandboxes.previews p join sandboxes.sandboxes s on s.id = p.sandbox_id
    where token_hash in (select decode(given, 'hex') from unnest(${[...hashes]}::text[]) as given)
      and s.state not in ${sandboxStates.sql('over')(db)} and ${isValid(db, time)}`;
  return rows.map((row) => row.hash);
}

/** A condition: an address `p` is not void, its account may run and the key that made it may be used. */
const isValid = (db: Db, time: Time) => db`
  p.expires_at > ${nowOf(db, time)}
  and exists (select 1 from accounts.standing_view a where a.id = p.account_id and a.may_run)
  and (p.key_id is null or exists (select 1 from keys.usable_view k where k.id = p.key_id))`;

/** Forgets addresses that are void. */
export async function deleteExpiredPreviews(db: Db, time: Time): Promise<void> {
  await db`delete from sandboxes.previews where expires_at < ${nowOf(db, time)}`;
}
