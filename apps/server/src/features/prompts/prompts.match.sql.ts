import type { Sketch } from '@svc/matching';
import type { Db } from '../../kernel/db/db.ts';
import type { PromptRow } from './prompts.sql.ts';
import { promptStates } from './prompts.states.ts';

/** Keeps the words of a prompt for the search. */
export async function insertWords(
  db: Db,
  { id, account_id, order_no }: Pick<PromptRow, 'id' | 'account_id' | 'order_no'>,
  words: { total: number; sketch: Sketch; hashes: Uint8Array },
): Promise<void> {
  await db`
    insert into prompts.words (prompt_id, account_id, order_no, total, hashes, sketch, ones)
    select ${id}, ${account_id}, ${order_no}, ${words.total}, ${Buffer.from(words.hashes)}, bits, bit_count(bits)
    from (select ${bitsOf(words.sketch)}::text::bit(8192) as bits) given`;
}

/** As Postgres reads bits. */
const bitsOf = (sketch: Sketch): string => `x${Buffer.from(sketch).toString('hex')}`;

/** A turn matches it no more. */
export async function forgetWords(db: Db, id: string): Promise<void> {
  await db`delete from prompts.words where prompt_id = ${id}`;
}

/** A prompt that may match. */
export interface PromptCandidate {
  id: string;
  order_no: number;
  /** Its words. */
  total: number;
}

/** Prompts of one beginning that are compared. */
const mostPrefixes = 200;

/** The active prompt of an account with this text, and those with this beginning, newest first. */
export async function findKin(
  db: Db,
  accountId: string,
  { textHash, prefixHash }: { textHash: Uint8Array; prefixHash: Uint8Array | null },
): Promise<{ same: PromptCandidate | undefined; prefix: PromptCandidate[] }> {
  const rows = await db<(PromptCandidate & { is_same: boolean })[]>`
    select id, order_no, is_same, coalesce((select total from prompts.words w where w.prompt_id = id), 0) as total from (
      select id, order_no, state, true as is_same from prompts.prompts
      where account_id = ${accountId} and text_hash = ${Buffer.from(textHash)}
      union all
      select id, order_no, state, false from prompts.prompts
      where account_id = ${accountId} and prefix_hash = ${prefixHash && Buffer.from(prefixHash)}
    ) kin where state in ${promptStates.sql('active')(db)} order by is_same desc, order_no desc limit ${mostPrefixes}`;
  return { same: rows.find(({ is_same }) => is_same), prefix: rows.filter(({ is_same }) => !is_same) };
}

/** A search by words. */
interface WordSearch {
  accountId: string;
  sketch: Sketch;
  total: number;
  /** How many words a prompt has that may match. */
  least: number;
  most: number;
}

/**
 * The search itself, `mayOverlap` in SQL; its plan is tested. Bits that are missing on one side are those of the other
 * without the shared ones, which are counted once. `materialized`: after five uses the plan knows no values any more, and
 * would make the bits of the text anew for each row (18 ms instead of 3 among 10,000).
 */
export const searchOf = (db: Db, { accountId, sketch, total, least, most }: WordSearch) => db`
  with given as materialized (
    select bits, bit_count(bits) as ones from (select ${bitsOf(sketch)}::text::bit(8192) as bits) one
  )
  select prompt_id as id, order_no, total
  from given, prompts.words, lateral (select (85 * greatest(total, ${total}::int) + 99) / 100 as words) need
  where account_id = ${accountId} and total between ${least} and ${most}
    and bit_count(given.bits & sketch) >= need.words + greatest(given.ones - ${total}::int, words.ones - total)
  order by bit_count(given.bits & sketch)::float8 / greatest(total, ${total}::int) desc, order_no desc limit 2000`;

/**
 * Active prompts of an account whose words may overlap, those that are likely to share most first. In a transaction: where one account has most of the
 * prompts the planner would rather read all of the table. Sent at once, which saves two ways to the server and back.
 */
export async function searchWords(tx: Db, search: WordSearch): Promise<PromptCandidate[]> {
  const set = (to: 'on' | 'off') => tx`select set_config('enable_seqscan', ${to}, true)`;
  const [, rows] = await Promise.all([set('off'), tx<PromptCandidate[]>`${searchOf(tx, search)}`, set('on')]);
  return rows;
}

/** Hashes of words by prompt; null for one that was kept before there were any. */
export async function listHashes(db: Db, ids: readonly string[]): Promise<{ id: string; hashes: Buffer | null }[]> {
  return db<{ id: string; hashes: Buffer | null }[]>`
    select prompt_id as id, hashes from prompts.words where prompt_id = any(${[...ids]}::uuid[])`;
}

/** The lowest hashes of prompts, so many bytes of each. */
export async function listLows(
  db: Db,
  ids: readonly string[],
  bytes: number,
): Promise<{ id: string; low: Buffer | null }[]> {
  return db<{ id: string; low: Buffer | null }[]>`
    select prompt_id as id, substring(hashes from 1 for ${bytes}) as low from prompts.words
    where prompt_id = any(${[...ids]}::uuid[])`;
}

/** Keeps the hashes of a prompt that has none. */
export async function setHashes(db: Db, id: string, hashes: Buffer): Promise<void> {
  await db`update prompts.words set hashes = ${hashes} where prompt_id = ${id}`;
}

/** Texts by id. */
export async function findTexts(db: Db, ids: readonly string[]): Promise<{ id: string; prompt: string }[]> {
  return db<{ id: string; prompt: string }[]>`
    select id, prompt from prompts.prompts where id = any(${[...ids]}::uuid[]) order by order_no desc`;
}
