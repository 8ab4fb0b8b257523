import { createHash } from 'node:crypto';
import { isOverlap, normalized, sketchOf, textHash, textPrefix, wordCounts, wordsOf } from '@svc/matching';
import type { Db } from '../../kernel/db/db.ts';
import { findSame, findTexts, insertWords, searchWords } from './prompts.match.sql.ts';
import type { PromptRow } from './prompts.sql.ts';

/** Candidates whose texts are read at once. */
const atOnce = 20;

/** What finds a text again: the hashes of the whole, and of its beginning when it is long. */
export function hashesOf(text: string): { textHash: Buffer; prefixHash: Buffer | null } {
  const prefix = textPrefix(text);
  // By its units: the cut may go through a pair of them.
  const prefixHash = prefix === undefined ? null : createHash('sha256').update(prefix, 'utf16le').digest();
  return { textHash: Buffer.from(textHash(text), 'hex'), prefixHash };
}

/** Keeps what a search finds a prompt by. */
export async function keepWords(db: Db, prompt: Pick<PromptRow, 'id' | 'order_no' | 'account_id' | 'prompt'>) {
  const words = wordsOf(prompt.prompt);
  if (words.total > 0) await insertWords(db, prompt, { total: words.total, sketch: sketchOf(words) });
}

/**
 * The newest active prompt of an account that a text is: the same, the same first 4,000 characters, or at least 85 % of its
 * words (document 1, Pending prompt). Of candidates by words the newest 2,000 are compared. In a transaction.
 */
export async function findMatch(tx: Db, accountId: string, text: string): Promise<string | undefined> {
  const given = normalized(text);
  if (given === '') return undefined;
  const words = wordsOf(given);
  const { total } = words;
  const search = { accountId, sketch: sketchOf(words), total, ...wordCounts(total) };
  const [same, candidates] = await Promise.all([
    findSame(tx, accountId, hashesOf(given)),
    total === 0 ? [] : searchWords(tx, search),
  ]);
  const found = candidates.filter(({ order_no }) => order_no > (same?.order_no ?? 0));
  for (let at = 0; at < found.length; at += atOnce) {
    const ids = found.slice(at, at + atOnce).map(({ id }) => id);
    for (const { id, prompt } of await findTexts(tx, ids)) if (isOverlap(words, wordsOf(prompt))) return id;
  }
  return same?.id;
}
