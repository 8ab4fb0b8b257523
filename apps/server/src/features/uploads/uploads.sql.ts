import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import type { Quota } from '../../kernel/records/quotas.ts';

/** An upload as it is stored. */
export interface UploadRow {
  id: string;
  account_id: string;
  length: number;
  /** Bytes that are stored. */
  at: number;
  metadata: string;
  sha256: Buffer | null;
  created_at: string;
  completed_at: string | null;
  expires_at: string | null;
  /** It expired; its bytes are gone or go soon. */
  is_gone: boolean;
  transcript_id: string | null;
}

/** A piece that is stored. */
export interface PartRow {
  start: number;
  token: string;
  bytes: number;
}

/** How long an upload is kept without bytes, for its client may not have heard of it; after its last bytes; after it was complete. */
const emptyHours = 1;
const unfinishedHours = 72;
const completeHours = 24;
/** How long it says 410 once it is gone. */
const goneDays = 7;

const columns = (db: Db, time: Time) => db`
  id, account_id, length, at, metadata, sha256, created_at, completed_at, expires_at,
  coalesce(expires_at <= ${nowOf(db, time)}, false) as is_gone, transcript_id`;

/** Limit of the uploads of an account that no transcript has. */
export const uploadsQuota: Quota = {
  name: 'uploads',
  remedy: 'finalize them, or delete some',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from uploads.uploads
      where account_id = ${accountId} and transcript_id is null and (expires_at is null or expires_at > now())`;
    return row?.n ?? 0;
  },
};

/** Limit of their bytes, by the lengths that they were begun with. */
export const uploadBytesQuota: Quota = {
  name: 'upload_bytes',
  what: 'bytes in uploads that no transcript has',
  remedy: 'finalize them, or delete some',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum(length), 0)::bigint as n from uploads.uploads
      where account_id = ${accountId} and transcript_id is null and (expires_at is null or expires_at > now())`;
    return row?.n ?? 0;
  },
};

/** Stores a new upload; one of no bytes is complete. */
export async function insertUpload(
  db: Db,
  time: Time,
  upload: { id: string; accountId: string; length: number; metadata: string; sha256: Buffer | null },
): Promise<UploadRow> {
  const now = nowOf(db, time);
  const isComplete = upload.length === 0;
  const hours = isComplete ? completeHours : emptyHours;
  const [row] = await db<UploadRow[]>`
    insert into uploads.uploads (id, account_id, length, metadata, sha256, created_at, completed_at, expires_at)
    values (${upload.id}, ${upload.accountId}, ${upload.length}, ${upload.metadata}, ${upload.sha256}, ${now},
      ${isComplete ? now : null}, ${now}::timestamptz + make_interval(hours => ${hours}))
    returning ${columns(db, time)}`;
  return row as UploadRow;
}

/** An upload of the account. */
export async function findUpload(db: Db, time: Time, accountId: string, id: string): Promise<UploadRow | undefined> {
  const [row] = await db<UploadRow[]>`
    select ${columns(db, time)} from uploads.uploads where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** A request that writes to an upload. */
export interface Write {
  readonly id: string;
  /** Where its piece begins. */
  readonly start: number;
  /** Names its blob. */
  readonly token: string;
}

/**
 * Makes a request the writer of an upload that stands at `start`, and announces its piece, whose blob is found by this row
 * whatever dies. Parts are counted only once as many requests wrote: counting costs 9 ms where there are 10,000. Answers its number, the highest so far, and whether another one may still be writing. Undefined when the
 * upload stands elsewhere, is complete or gone, or has `mostParts`.
 */
export async function takeUpload(
  db: Db,
  time: Time,
  { id, start, token }: Write,
  mostParts: number,
): Promise<{ no: number; was_written: boolean } | undefined> {
  const now = nowOf(db, time);
  const [row] = await db<{ no: number; was_written: boolean }[]>`
    with found as (
      select id, is_written from uploads.uploads
      where id = ${id} and at = ${start} and completed_at is null and expires_at > ${now}
        and (writes < ${mostParts} or (select count(*) from uploads.parts p where p.upload_id = ${id}) < ${mostParts})
      for update),
    taken as (
      update uploads.uploads u set writes = u.writes + 1, is_written = true from found where u.id = found.id
      returning u.id, u.writes as no, found.is_written as was_written),
    announced as (
      insert into uploads.parts (upload_id, start, token, created_at) select id, ${start}, ${token}, ${now} from taken)
    select no, was_written from taken`;
  return row;
}

/** Counts the parts of an upload, those on their way among them. */
export async function countParts(db: Db, id: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from uploads.parts where upload_id = ${id}`;
  return row?.n ?? 0;
}

/**
 * Counts a stored piece, unless another request became the writer, or its account was suspended meanwhile. A digest of the
 * whole that came with it is kept. Undefined: not counted.
 */
export async function commitPart(
  db: Db,
  time: Time,
  { id, start, token, no, bytes, sha256 }: Write & { no: number; bytes: number; sha256: Buffer | null },
): Promise<UploadRow | undefined> {
  const now = nowOf(db, time);
  const end = start + bytes;
  const [row] = await db<UploadRow[]>`
    with counted as (
      update uploads.uploads set at = ${end}, is_written = false, sha256 = coalesce(${sha256}, sha256),
        completed_at = case when ${end}::bigint = length then ${now}::timestamptz end,
        expires_at = ${now}::timestamptz
          + make_interval(hours => case when ${end}::bigint = length then ${completeHours} else ${unfinishedHours} end::int)
      where id = ${id} and at = ${start} and writes = ${no} and expires_at > ${now}
        and exists (select 1 from accounts.standing_view a where a.id = account_id and a.may_run)
      returning *),
    kept as (
      update uploads.parts p set bytes = ${bytes} from counted
      where p.upload_id = counted.id and p.start = ${start} and p.token = ${token})
    select ${columns(db, time)} from counted`;
  return row;
}

/** Keeps a piece from being counted from now on, also by a statement that is still under way. */
export async function fencePart(db: Db, { id, no }: Pick<Write, 'id'> & { no: number }): Promise<void> {
  await db`update uploads.uploads set writes = writes + 1, is_written = false where id = ${id} and writes = ${no}`;
}

/** Whether a piece is counted. */
export async function isCounted(db: Db, { id, start, token }: Write): Promise<boolean> {
  const rows = await db`
    select 1 from uploads.parts
    where upload_id = ${id} and start = ${start} and token = ${token} and bytes is not null`;
  return rows.length > 0;
}

/** Forgets a piece that is not counted, and who wrote it. */
export async function dropPart(db: Db, { id, start, token, no }: Write & { no: number }): Promise<void> {
  await db`
    with let_go as (update uploads.uploads set is_written = false where id = ${id} and writes = ${no})
    delete from uploads.parts where upload_id = ${id} and start = ${start} and token = ${token} and bytes is null`;
}

/** The pieces of an upload that are stored, in their order. */
export async function storedParts(db: Db, id: string): Promise<PartRow[]> {
  return db<PartRow[]>`
    select start, token, bytes from uploads.parts where upload_id = ${id} and bytes is not null order by start`;
}

/** Every piece of an upload, also what is not stored. */
export async function allParts(db: Db, id: string): Promise<Omit<PartRow, 'bytes'>[]> {
  return db<PartRow[]>`select start, token from uploads.parts where upload_id = ${id}`;
}

/** Forgets the rows of all pieces of an upload. */
export async function deleteParts(db: Db, id: string): Promise<void> {
  await db`delete from uploads.parts where upload_id = ${id}`;
}

/** Deletes an upload that no transcript has; false when there is none. */
export async function deleteUpload(db: Db, id: string): Promise<boolean> {
  const { count } = await db`delete from uploads.uploads where id = ${id} and transcript_id is null`;
  return count === 1;
}

/** Lets an upload expire now: nobody can take or continue it while its bytes are deleted. */
export async function expireUpload(db: Db, time: Time, id: string): Promise<boolean> {
  const { count } = await db`
    update uploads.uploads set expires_at = ${nowOf(db, time)}, writes = writes + 1 where id = ${id} and transcript_id is null`;
  return count === 1;
}

/** Uploads that expired and still have pieces. */
export async function expiredUploads(db: Db, time: Time, limit: number): Promise<{ id: string; account_id: string }[]> {
  return db<{ id: string; account_id: string }[]>`
    select id, account_id from uploads.uploads u where expires_at <= ${nowOf(db, time)}
      and exists (select from uploads.parts p where p.upload_id = u.id)
    limit ${limit}`;
}

/** Deletes the rows of uploads that have been gone for a week. */
export async function deleteGone(db: Db, time: Time): Promise<void> {
  await db`delete from uploads.uploads where expires_at <= ${nowOf(db, time)}::timestamptz - make_interval(days => ${goneDays})
    and not exists (select from uploads.parts p where p.upload_id = uploads.id)`;
}

/** Pieces that a request announced a day ago and never finished. */
export async function abandonedParts(
  db: Db,
  time: Time,
  limit: number,
): Promise<{ upload_id: string; account_id: string; start: number; token: string }[]> {
  return db<{ upload_id: string; account_id: string; start: number; token: string }[]>`
    select p.upload_id, u.account_id, p.start, p.token
    from uploads.parts p join uploads.uploads u on u.id = p.upload_id
    where p.bytes is null and p.created_at < ${nowOf(db, time)}::timestamptz - interval '1 day'
    limit ${limit}`;
}

/** Gives a complete upload that nobody has to a transcript; false when it is not there any more, or another one's. */
export async function claimUpload(
  db: Db,
  { accountId, id, transcriptId }: { accountId: string; id: string; transcriptId: string },
): Promise<boolean> {
  const { count } = await db`
    update uploads.uploads set transcript_id = ${transcriptId}, expires_at = null
    where id = ${id} and account_id = ${accountId} and completed_at is not null and transcript_id is null`;
  return count === 1;
}

/** Lets the uploads of a transcript go that is deleted: they expire at once, and the sweep finds what is left of them. */
export async function releaseUploads(db: Db, time: Time, transcriptId: string): Promise<void> {
  await db`
    update uploads.uploads set transcript_id = null, expires_at = ${nowOf(db, time)} where transcript_id = ${transcriptId}`;
}

/** Whether a piece of an upload is stored. */
export async function hasPieces(db: Db): Promise<boolean> {
  const [row] = await db<{ yes: boolean }[]>`select exists (select from uploads.parts) as yes`;
  return row?.yes ?? false;
}
