import type { vocabularyEntry } from '@svc/contract';
import type { z } from 'zod';
import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Names and words of an account. */
interface Vocabulary {
  entries: z.output<typeof vocabularyEntry>[];
  updated_at: string | null;
}

/** The vocabulary of an account; empty when none was written. */
export async function vocabularyOf(db: Db, accountId: string): Promise<Vocabulary> {
  const [row] = await db<Vocabulary[]>`
    select entries, updated_at from transcripts.vocabularies where account_id = ${accountId}`;
  return row ?? { entries: [], updated_at: null };
}

/** Replaces it. */
export async function putVocabulary(
  db: Db,
  time: Time,
  accountId: string,
  entries: Vocabulary['entries'],
): Promise<Vocabulary> {
  const [row] = await db<Vocabulary[]>`
    insert into transcripts.vocabularies (account_id, entries, updated_at)
    values (${accountId}, ${JSON.stringify(entries)}::text::jsonb, ${nowOf(db, time)})
    on conflict (account_id) do update set entries = excluded.entries, updated_at = excluded.updated_at
    returning entries, updated_at`;
  return row as Vocabulary;
}
