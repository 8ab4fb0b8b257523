import { ApiError } from '../../../kernel/base/errors.ts';
import { WorkFailed } from '../../../kernel/share/workers.ts';
import { MediaRefused } from '../../media/index.ts';
import { NoProvider, SpeechFailed } from '../../speech/index.ts';
import type { StepRow } from '../transcripts.rows.ts';

/** The step is handed back and waits: its gateway or its account ended, or its lease is another's. No try is lost. */
export class HandBack extends Error {
  override name = 'HandBack';
  readonly waitMs: number;

  constructor(waitMs: number) {
    super('the step is handed back');
    this.waitMs = waitMs;
  }
}

/** What comes of a step that threw. */
interface Failure {
  readonly kind: 'failed' | 'hand back';
  /** Shown as `last_error`: says what to do, and holds neither a path nor a secret. */
  readonly message: string;
  readonly waitMs: number;
  /** No further try can do better. */
  readonly isFinal: boolean;
  /** For the log: nothing that a recording or a provider may cause. */
  readonly isUnexpected: boolean;
}

/** An outage of ten minutes fails no recording. */
const waits = [5_000, 30_000, 120_000, 600_000];
const longestPatienceMs = 600_000;
/** A provider that asks for patience for ever: from so many attempts on each counts. */
const mostPatience = 100;

/** Reads what a step threw. */
export function failureOf(error: unknown, { tries, attempt }: Pick<StepRow, 'tries' | 'attempt'>): Failure {
  const failed = (message: string, waitMs: number, more: Partial<Failure> = {}): Failure => ({
    kind: 'failed',
    message,
    waitMs,
    isFinal: false,
    isUnexpected: false,
    ...more,
  });
  const usual = waits[tries] ?? 0;
  if (error instanceof HandBack) return failed('', error.waitMs, { kind: 'hand back' });
  // Nothing changes until somebody sets one up.
  if (error instanceof NoProvider) return failed(error.message, 0, { isFinal: true });
  if (error instanceof MediaRefused) return failed(error.message, 0, { isFinal: true });
  if (error instanceof SpeechFailed) {
    if (error.rateLimited && attempt - tries < mostPatience) {
      const waitMs = Math.min(error.retryAfterMs ?? (waits[1] as number), longestPatienceMs);
      return failed(error.message, waitMs, { kind: 'hand back' });
    }
    return failed(error.message, error.final ? 0 : usual);
  }
  if (error instanceof WorkFailed) return failed('it took too long or too much memory', usual, { isUnexpected: true });
  if (error instanceof ApiError) return failed(error.message, usual);
  return failed('an unexpected fault occurred; it is tried again', usual, { isUnexpected: true });
}
