import type { Db } from '../../../kernel/db/db.ts';
import { ownerWord } from '../text/text.sql.ts';
import { inScope, isInScope, type Scope } from './vectors.sql.ts';

/** An utterance that a search found, by one of its ways. */
export interface FoundRow {
  transcript_id: string;
  seq: number;
  rank: number;
}

/** Utterances that are ranked; of each word of a question its share of them, so that a common one leaves room for a rare one. */
const mostRanked = 2_000;

interface Searching {
  accountId: string;
  /** Without stop words. */
  words: readonly string[];
  mode: 'all' | 'any';
  scope: Scope;
  limit: number;
}

/** Utterances that have all words of a question, or any of them; the best first. */
export async function findByWords(db: Db, { accountId, words, mode, scope, limit }: Searching): Promise<FoundRow[]> {
  if (words.length === 0) return [];
  const asked = mode === 'all' ? [words.join(' ')] : [...words];
  const share = Math.ceil(mostRanked / asked.length);
  // Of stop words alone nothing is left: with the owner's word they would be everything.
  return db<FoundRow[]>`
    with asked as materialized (
      select distinct forms from unnest(${asked}::text[]) word,
        lateral (select plainto_tsquery('transcripts.ro', word) || plainto_tsquery('transcripts.en', word) as forms) parsed
      where numnode(forms) > 0),
    whole as materialized (select string_agg('(' || forms::text || ')', '|')::tsquery as forms from asked),
    found as (
      select distinct u.transcript_id, u.seq, u.rank from asked, lateral (
        select transcript_id, seq, ts_rank(words, (select forms from whole))::float8 as rank
        from transcripts.utterances
        where words @@ (asked.forms && quote_literal(${ownerWord(accountId)})::tsquery)
          ${isInScope(db, accountId, scope)}
        limit ${share}) u)
    select found.* from found join transcripts.transcripts t on t.id = found.transcript_id
    order by rank desc, t.started_at desc, transcript_id, seq limit ${limit}`;
}

/** Words of a question that are looked for among names; the longest say most. */
const mostNames = 8;
/** Names that each of them is compared with: as many as share a mark with it (0390.transcripts.marks.sql). */
const mostCompared = 2_000;

/** Utterances in which a name is said that is spelt like one of these words, the eight longest of them. */
export async function findByNames(
  db: Db,
  { accountId, names, scope, limit }: Pick<Searching, 'accountId' | 'scope' | 'limit'> & { names: readonly string[] },
): Promise<FoundRow[]> {
  if (names.length === 0) return [];
  const asked = [...new Set(names)].sort((a, b) => b.length - a.length).slice(0, mostNames);
  // The marks hold the owner. A condition on the account would lead the planner to all of its names.
  return db<FoundRow[]>`
    with asked as materialized (
      select name, transcripts.name_marks(${accountId}, name) as marks from unnest(${asked}::text[]) q (name)),
    alike as materialized (
      select n.transcript_id, n.seqs, max(n.rank) as rank from asked, lateral (
        select transcript_id, account_id, name, seqs, similarity(name, asked.name) as rank from transcripts.names
        where transcripts.name_marks(account_id, name) && asked.marks ${isInScope(db, accountId, scope)}
        limit ${mostCompared}) n
      where n.account_id = ${accountId} and n.rank >= 0.45
      group by n.transcript_id, n.name, n.seqs
      order by rank desc limit ${limit})
    select a.transcript_id, seq, max(a.rank)::float8 as rank
    from alike a join transcripts.transcripts t on t.id = a.transcript_id, unnest(a.seqs) seq
    group by a.transcript_id, seq, t.started_at
    order by rank desc, t.started_at desc, a.transcript_id, seq limit ${limit}`;
}

/** What an answer shows of an utterance. */
export interface ShownRow {
  transcript_id: string;
  title: string | null;
  insights_title: string | null;
  started_at: string;
  folder_id: string | null;
  seq: number;
  speaker: string;
  speaker_name: string | null;
  start_ms: number;
  end_ms: number;
  text: string;
}

/** The utterances of passages. */
export async function showPassages(
  db: Db,
  accountId: string,
  places: readonly { transcript_id: string; from_seq: number; to_seq: number }[],
): Promise<ShownRow[]> {
  return db<ShownRow[]>`
    select distinct u.transcript_id, t.title, t.insights->>'title' as insights_title, t.started_at, t.folder_id, u.seq,
      u.speaker, s.name as speaker_name, u.start_ms, u.end_ms, u.text
    from json_to_recordset(${JSON.stringify(places)}::text::json) as p (transcript_id uuid, from_seq int, to_seq int)
    join transcripts.utterances u on u.transcript_id = p.transcript_id and u.seq between p.from_seq and p.to_seq
    join transcripts.transcripts t on t.id = u.transcript_id
    left join transcripts.speakers s on s.transcript_id = u.transcript_id and s.label = u.speaker
    where t.account_id = ${accountId}
    order by t.started_at, u.transcript_id, u.seq`;
}

/** The packed words of minutes of transcripts. */
export async function wordsOfPlaces(
  db: Db,
  places: readonly { transcript_id: string; minute: number }[],
): Promise<{ transcript_id: string; packed: Buffer }[]> {
  return db<{ transcript_id: string; packed: Buffer }[]>`
    select w.transcript_id, w.packed
    from (select distinct transcript_id, minute from json_to_recordset(${JSON.stringify(places)}::text::json)
      as p (transcript_id uuid, minute int)) p
    join transcripts.words w on w.transcript_id = p.transcript_id and w.minute = p.minute`;
}

/** How many recordings a scope has. */
export async function countInScope(db: Db, accountId: string, scope: Scope): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from transcripts.transcripts t where t.account_id = ${accountId} ${inScope(db, scope)}`;
  return row?.n ?? 0;
}
