import type { Db } from '../../../kernel/db/db.ts';
import type { SpeakerRow, TranscriptRow, UtteranceRow } from '../transcripts.rows.ts';

type Owned = Pick<TranscriptRow, 'id' | 'account_id'>;

/** A word of the index that names the owner: the index itself then finds what an account may see. No speech has it. */
export const ownerWord = (accountId: string): string => `owner ${accountId}`;

const columns = (db: Db) => db`
  seq, speaker, heard_speaker, track, start_ms, end_ms, text, original_text, edited_at, confidence, language`;

const wordsOf = (db: Db, accountId: string) => db`
  strip(to_tsvector('transcripts.ro', text)) || strip(to_tsvector('transcripts.en', text))
    || array_to_tsvector(array[${ownerWord(accountId)}])`;

/** Utterances that are inserted by one statement. */
const atOnce = 1_000;

/** Puts utterances in the places of those that a transcript has. */
export async function replaceUtterances(
  db: Db,
  { id, account_id: accountId }: Owned,
  rows: readonly UtteranceRow[],
): Promise<void> {
  await db`delete from transcripts.utterances where transcript_id = ${id}`;
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = JSON.stringify(rows.slice(at, at + atOnce));
    await db`
      insert into transcripts.utterances (transcript_id, account_id, ${columns(db)}, words)
      select ${id}, ${accountId}, ${columns(db)}, ${wordsOf(db, accountId)}
      from json_to_recordset(${some}::text::json) as u (seq int, speaker text, heard_speaker text, track text, start_ms int, end_ms int, text text,
        original_text text, edited_at timestamptz, confidence real, language text)`;
  }
}

/** The utterances of a transcript, in their order. */
export async function utterancesOf(db: Db, id: string): Promise<UtteranceRow[]> {
  return db<UtteranceRow[]>`
    select ${columns(db)} from transcripts.utterances where transcript_id = ${id} order by seq`;
}

/** Those from one on that overlap a span of time. */
export async function utterancesIn(
  db: Db,
  id: string,
  { fromMs, toMs, seq, limit }: { fromMs: number; toMs: number; seq: number; limit: number },
): Promise<UtteranceRow[]> {
  return db<UtteranceRow[]>`
    select ${columns(db)} from transcripts.utterances
    where transcript_id = ${id} and start_ms < ${toMs} and end_ms > ${fromMs} and seq >= ${seq} order by seq limit ${limit}`;
}

/** One of them. */
export async function findUtterance(db: Db, id: string, seq: number): Promise<UtteranceRow | undefined> {
  const [row] = await db<UtteranceRow[]>`
    select ${columns(db)} from transcripts.utterances where transcript_id = ${id} and seq = ${seq}`;
  return row;
}

/** Whether there are any. */
export async function hasUtterances(db: Db, id: string): Promise<boolean> {
  const [row] = await db`select from transcripts.utterances where transcript_id = ${id} limit 1`;
  return row !== undefined;
}

/** Writes a person's correction. */
export async function changeUtterance(
  db: Db,
  { id, account_id: accountId }: Owned,
  row: Pick<UtteranceRow, 'seq' | 'text' | 'original_text' | 'edited_at' | 'speaker' | 'heard_speaker'>,
): Promise<UtteranceRow> {
  const [changed] = await db<UtteranceRow[]>`
    update transcripts.utterances u set speaker = ${row.speaker}, heard_speaker = ${row.heard_speaker}, text = n.text, original_text = ${row.original_text},
      edited_at = ${row.edited_at}, words = n.words
    from (select text, ${wordsOf(db, accountId)} as words from (select ${row.text}::text as text) given) n
    where transcript_id = ${id} and seq = ${row.seq} returning ${changedColumns(db)}`;
  return changed as UtteranceRow;
}

const changedColumns = (db: Db) => db`
  u.seq, u.speaker, u.heard_speaker, u.track, u.start_ms, u.end_ms, u.text, u.original_text, u.edited_at, u.confidence, u.language`;

/** Gives all utterances of one speaker to another. */
export async function mergeSpeaker(db: Db, id: string, from: string, into: string): Promise<void> {
  await db`update transcripts.utterances set speaker = ${into} where transcript_id = ${id} and speaker = ${from}`;
  await db`delete from transcripts.speakers where transcript_id = ${id} and label = ${from}`;
}

/** The gzipped words of the minutes from one to another, in their order. */
export async function wordsOfMinutes(
  db: Db,
  id: string,
  from = 0,
  to = 10_000,
): Promise<{ minute: number; packed: Buffer }[]> {
  return db<{ minute: number; packed: Buffer }[]>`
    select minute, packed from transcripts.words
    where transcript_id = ${id} and minute between ${from} and ${to} order by minute`;
}

/** Puts words in the places of those that a transcript has. */
export async function replaceWords(
  db: Db,
  { id, account_id: accountId }: Owned,
  minutes: readonly { minute: number; packed: Buffer }[],
): Promise<void> {
  await db`delete from transcripts.words where transcript_id = ${id}`;
  for (const { minute, packed } of minutes)
    await db`
      insert into transcripts.words (transcript_id, account_id, minute, packed) values (${id}, ${accountId}, ${minute}, ${packed})`;
}

/** The speakers of transcripts, by their labels' numbers. */
export async function speakersOf(db: Db, ids: readonly string[]): Promise<(SpeakerRow & { transcript_id: string })[]> {
  return db<(SpeakerRow & { transcript_id: string })[]>`
    select transcript_id, label, name, is_self, talk_ms, utterance_count from transcripts.speakers
    where transcript_id = any(${[...ids]}::uuid[]) order by transcript_id, length(label), label`;
}

/** Puts speakers in the places of those that a transcript has. */
export async function replaceSpeakers(
  db: Db,
  { id, account_id: accountId }: Owned,
  rows: readonly SpeakerRow[],
): Promise<void> {
  await db`delete from transcripts.speakers where transcript_id = ${id}`;
  if (rows.length === 0) return;
  await db`
    insert into transcripts.speakers (transcript_id, account_id, label, name, is_self, talk_ms, utterance_count)
    select ${id}, ${accountId}, label, name, is_self, talk_ms, utterance_count
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as s (label text, name text, is_self boolean, talk_ms int, utterance_count int)`;
}

/** Names a speaker, or says who is the user. */
export async function changeSpeaker(
  db: Db,
  id: string,
  { label, name, is_self: isSelf }: Pick<SpeakerRow, 'label' | 'name' | 'is_self'>,
): Promise<void> {
  await db`
    update transcripts.speakers set name = ${name}, is_self = ${isSelf} where transcript_id = ${id} and label = ${label}`;
}

/** Counts again what each speaker says, after utterances changed hands. */
export async function recountSpeakers(db: Db, id: string): Promise<void> {
  await db`
    update transcripts.speakers s set
      talk_ms = coalesce((select sum(end_ms - start_ms) from transcripts.utterances u
        where u.transcript_id = s.transcript_id and u.speaker = s.label), 0),
      utterance_count = (select count(*) from transcripts.utterances u
        where u.transcript_id = s.transcript_id and u.speaker = s.label)
    where s.transcript_id = ${id}`;
}

/** Puts the names that were said in the places of those of before. */
export async function replaceNames(
  db: Db,
  { id, account_id: accountId }: Owned,
  names: ReadonlyMap<string, readonly number[]>,
): Promise<void> {
  await db`delete from transcripts.names where transcript_id = ${id}`;
  if (names.size === 0) return;
  const rows = [...names].map(([name, seqs]) => ({ name, seqs: [...seqs] }));
  await db`
    insert into transcripts.names (transcript_id, account_id, name, seqs)
    select ${id}, ${accountId}, name, array(select value::int from json_array_elements_text(seqs))
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as n (name text, seqs json)`;
}

/** An utterance as names are found in it. */
export const toHeard = ({ seq, speaker, start_ms: startMs, end_ms: endMs, text }: UtteranceRow) => ({
  seq,
  speaker,
  startMs,
  endMs,
  text,
});
