import { createHash, randomBytes } from 'node:crypto';
import type { publicTranscript } from '@svc/contract';
import type { z } from 'zod';
import type { Kernel } from '../../../kernel/kernel.ts';
import { rateLimitExceeded } from '../../../kernel/share/limits.ts';
import { speakersOf, utterancesOf } from '../text/text.sql.ts';
import { findTranscript } from '../transcripts.sql.ts';
import { languageOfRow, titleOf } from '../transcripts.view.ts';
import { countView, findShared } from './shares.sql.ts';

/** Requests of a visitor in a minute, for the page and its JSON together (design: transcripts). */
const visits = { name: 'shares', perMinute: 300 };
const tokenBytes = 32;

/** A new token; it is shown once (document 1: 32 random bytes, only its SHA-256 is stored). */
export const newToken = (): string => randomBytes(tokenBytes).toString('base64url');

/** The hash by which a token is found. */
export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Throws 429 for a visitor who asks for more than 300 a minute. */
export async function checkVisitor({ limiter }: Pick<Kernel, 'limiter'>, address: string): Promise<void> {
  const state = await limiter.take(visits, address);
  if (!state.allowed) throw rateLimitExceeded(visits.name, state);
}

/** A shared transcript, and whose it is. */
interface Shared {
  accountId: string;
  /** The language of the account, when the recording was made. */
  locale: 'en' | 'ro' | null;
  shown: z.input<typeof publicTranscript>;
}

/**
 * What everybody sees who has the link, built field by field: never audio, never what tells whose it is, no decisions, open
 * questions or prompts. Undefined for a link that is unknown, expired or revoked, and of an account that may not share.
 */
export async function openShare(
  { sql, clock }: Pick<Kernel, 'sql' | 'clock'>,
  token: string,
): Promise<Shared | undefined> {
  const share = await findShared(sql, clock, hashOfToken(token));
  const row = share && (await findTranscript(sql, share.account_id, share.transcript_id));
  if (!share || !row) return undefined;
  await countView(sql, clock, share.id);
  const [speakers, utterances] = await Promise.all([speakersOf(sql, [row.id]), utterancesOf(sql, row.id)]);
  const { insights } = row;
  const shown: Shared['shown'] = {
    title: titleOf(row),
    started_at: row.started_at,
    duration_ms: row.duration_ms,
    language: languageOfRow(row),
    speakers: speakers.map(({ label, name }) => ({ label, name })),
    utterances: utterances.map(({ seq, speaker, start_ms, end_ms, text }) => ({
      seq,
      speaker,
      start_ms,
      end_ms,
      text,
    })),
    summary: insights === null ? null : insights.summary,
    key_points: (insights?.key_points ?? []).map(({ text }) => ({ text })),
    actions: (insights?.actions ?? []).map(({ text, owner }) => ({ text, owner })),
    expiresAt: share.expires_at,
  };
  return { accountId: row.account_id, locale: row.locale, shown };
}
