import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { type PagedRow, type PageQuery, pageEnd } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';
import type { BookmarkRow, TrackRow, TranscriptChange, TranscriptRow } from './transcripts.rows.ts';
import type { TranscriptState } from './transcripts.states.ts';

const columns = (db: Db) => db`
  id, account_id, client_id, source, title, locale, language, heard_language, state, generation, started_at, duration_ms, created_at,
  updated_at, error, consent, folder_id, tags, pinned_at, preview_text, finalize_hash, finalized_at, key_id, audio_expires_at,
  audio_purged_at, degraded, edits_lost, insights, insights_stale, cost_micro_usd, bytes`;

/** Limit of the transcripts of an account. */
export const transcriptsQuota: Quota = {
  name: 'transcripts',
  remedy: 'delete some that are not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from transcripts.transcripts where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Limit of what their texts take. */
export const transcriptBytesQuota: Quota = {
  name: 'transcript_bytes',
  what: 'bytes in transcripts',
  remedy: 'delete some that are not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum(bytes), 0)::bigint as n from transcripts.transcripts where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** Limit of the audio of an account. */
export const audioBytesQuota: Quota = {
  name: 'audio_bytes',
  what: 'bytes of audio',
  remedy: 'audio goes 30 days after it was recorded; delete some recordings',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select coalesce(sum(bytes), 0)::bigint as n from transcripts.tracks where account_id = ${accountId}`;
    return row?.n ?? 0;
  },
};

/** The fields of a new transcript. */
export interface NewTranscript {
  accountId: string;
  clientId: string | null;
  source: string;
  /** RFC 3339; null: now. */
  startedAt: string | null;
  title: string | null;
  locale: 'en' | 'ro';
  language: string | null;
  folderId: string | null;
  tags: readonly string[];
  consent: string | null;
  state: TranscriptState;
}

/** Stores a new transcript; undefined when there is one of its client's id. */
export async function insertTranscript(db: Db, time: Time, one: NewTranscript): Promise<TranscriptRow | undefined> {
  const now = nowOf(db, time);
  const [row] = await db<TranscriptRow[]>`
    insert into transcripts.transcripts (account_id, client_id, source, title, locale, language, state, started_at, created_at,
      updated_at, folder_id, tags, consent)
    values (${one.accountId}, ${one.clientId}, ${one.source}, ${one.title}, ${one.locale}, ${one.language}, ${one.state},
      coalesce(${one.startedAt}::timestamptz, ${now}::timestamptz), ${now}, ${now}, ${one.folderId}, ${[...one.tags]},
      ${one.consent})
    on conflict (account_id, client_id) where client_id is not null do nothing
    returning ${columns(db)}`;
  return row;
}

/** The transcript of a client's id. */
export async function findByClient(db: Db, accountId: string, clientId: string): Promise<TranscriptRow | undefined> {
  const [row] = await db<TranscriptRow[]>`
    select ${columns(db)} from transcripts.transcripts where account_id = ${accountId} and client_id = ${clientId}`;
  return row;
}

/** A transcript of the account. */
export async function findTranscript(db: Db, accountId: string, id: string): Promise<TranscriptRow | undefined> {
  const [row] = await db<TranscriptRow[]>`
    select ${columns(db)} from transcripts.transcripts where id = ${id} and account_id = ${accountId}`;
  return row;
}

/** The same, locked until the transaction ends. */
export async function lockTranscript(db: Db, accountId: string, id: string): Promise<TranscriptRow | undefined> {
  const [row] = await db<TranscriptRow[]>`
    select ${columns(db)} from transcripts.transcripts where id = ${id} and account_id = ${accountId} for update`;
  return row;
}

/** Changes a locked transcript. */
export async function changeTranscript(
  db: Db,
  now: string,
  id: string,
  change: TranscriptChange,
): Promise<TranscriptRow> {
  const { insights, ...plain } = change;
  const [row] = await db<TranscriptRow[]>`
    update transcripts.transcripts set ${db({ ...plain, updated_at: now } as never)}
      ${insights === undefined ? db`` : db`, insights = ${insights === null ? null : JSON.stringify(insights)}::text::jsonb`}
    where id = ${id} returning ${columns(db)}`;
  return row as TranscriptRow;
}

/** Adds what models and speech cost. */
export async function addCost(db: Db, id: string, costMicroUsd: number): Promise<void> {
  await db`update transcripts.transcripts set cost_micro_usd = cost_micro_usd + ${costMicroUsd} where id = ${id}`;
}

/** Which transcripts a list has. */
interface ListFilter {
  folder_id?: string | undefined;
  tag?: string | undefined;
  status?: TranscriptState | undefined;
  pinned?: boolean | undefined;
  /** A part of the title. */
  q?: string | undefined;
  /** Began at this instant or later. */
  from?: string | undefined;
}

const pattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/** Transcripts of an account, newest first. */
export async function listTranscripts(
  db: Db,
  accountId: string,
  filter: ListFilter,
  page: PageQuery,
): Promise<(TranscriptRow & PagedRow)[]> {
  const { folder_id: folder, tag, status, pinned, q, from } = filter;
  return db<(TranscriptRow & PagedRow)[]>`
    select ${columns(db)}, created_at::text as page_at from transcripts.transcripts
    where account_id = ${accountId}
      ${folder === undefined ? db`` : db`and folder_id = ${folder}`}
      ${tag === undefined ? db`` : db`and ${tag} = any(tags)`}
      ${status === undefined ? db`` : db`and state = ${status}`}
      ${from === undefined ? db`` : db`and started_at >= ${from}`}
      ${pinned === undefined ? db`` : pinned ? db`and pinned_at is not null` : db`and pinned_at is null`}
      ${q === undefined ? db`` : db`and unaccent(coalesce(title, insights->>'title', '')) ilike unaccent(${pattern(q)})`}
      ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** Deletes a locked transcript; all that belongs to it goes with it. */
export async function deleteTranscript(db: Db, id: string): Promise<void> {
  await db`delete from transcripts.transcripts where id = ${id}`;
}

/** The tracks of transcripts, by transcript. */
export async function tracksOf(db: Db, ids: readonly string[]): Promise<(TrackRow & { transcript_id: string })[]> {
  return db<(TrackRow & { transcript_id: string })[]>`
    select transcript_id, track, upload_id, bytes, content_type, duration_ms, is_joined from transcripts.tracks
    where transcript_id = any(${[...ids]}::uuid[]) order by transcript_id, track`;
}

/** Stores the tracks of a transcript that is finalized. */
export async function insertTracks(
  db: Db,
  { id, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
  tracks: readonly Omit<TrackRow, 'is_joined'>[],
): Promise<void> {
  for (const track of tracks)
    await db`
      insert into transcripts.tracks (transcript_id, account_id, track, upload_id, bytes, content_type, duration_ms)
      values (${id}, ${accountId}, ${track.track}, ${track.upload_id}, ${track.bytes}, ${track.content_type}, ${track.duration_ms})`;
}

/** The audio of a track is one blob from now on. */
export async function markJoined(db: Db, id: string, track: string): Promise<boolean> {
  const { count } = await db`
    update transcripts.tracks set is_joined = true where transcript_id = ${id} and track = ${track}`;
  return count === 1;
}

/** Forgets the tracks of a transcript whose audio was purged. */
export async function deleteTracks(db: Db, id: string): Promise<void> {
  await db`delete from transcripts.tracks where transcript_id = ${id}`;
}

/** Transcripts whose audio is to go. */
export async function purgeable(db: Db, time: Time, limit: number): Promise<{ id: string; account_id: string }[]> {
  return db<{ id: string; account_id: string }[]>`
    select id, account_id from transcripts.transcripts
    where audio_purged_at is null and audio_expires_at <= ${nowOf(db, time)} order by audio_expires_at limit ${limit}`;
}

/** The marks of a recording, in their order. */
export async function bookmarksOf(db: Db, id: string): Promise<BookmarkRow[]> {
  return db<BookmarkRow[]>`
    select id, at_ms, note, created_at from transcripts.bookmarks where transcript_id = ${id} order by at_ms, id`;
}

/** Counts them. */
export async function countBookmarks(db: Db, id: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from transcripts.bookmarks where transcript_id = ${id}`;
  return row?.n ?? 0;
}

/** Adds marks. */
export async function insertBookmarks(
  db: Db,
  time: Time,
  { id, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
  marks: readonly { at_ms: number; note?: string | undefined }[],
): Promise<BookmarkRow[]> {
  if (marks.length === 0) return [];
  return db<BookmarkRow[]>`
    insert into transcripts.bookmarks (transcript_id, account_id, at_ms, note, created_at)
    select ${id}, ${accountId}, at_ms, note, ${nowOf(db, time)}
    from unnest(${marks.map(({ at_ms: at }) => at)}::int[], ${marks.map(({ note }) => note ?? null)}::text[]) as m (at_ms, note)
    returning id, at_ms, note, created_at`;
}

/** Takes a mark away; false when there is none. */
export async function deleteBookmark(db: Db, id: string, bookmarkId: string): Promise<boolean> {
  const { count } = await db`
    delete from transcripts.bookmarks where transcript_id = ${id} and id = ${bookmarkId}`;
  return count === 1;
}

/** Whether a caption frame comes 250 ms after the one before, on the clock that all gateways share. */
export async function takeFrame(
  db: Db,
  { id, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
): Promise<boolean> {
  const { count } = await db`
    insert into transcripts.live as l (transcript_id, account_id, at) values (${id}, ${accountId}, clock_timestamp())
    on conflict (transcript_id) do update set at = excluded.at where l.at <= excluded.at - interval '250 milliseconds'`;
  return count === 1;
}

/** Forgets when the last frames of recordings came that are over. */
export async function sweepFrames(db: Db): Promise<void> {
  await db`delete from transcripts.live where at < clock_timestamp() - interval '1 day'`;
}
