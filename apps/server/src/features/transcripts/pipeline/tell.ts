import type { Words } from '@svc/words';
import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { deepLink, type EndOfCause, notify, resolveNotifications } from '../../notifications/index.ts';
import type { TranscriptRow } from '../transcripts.rows.ts';
import { titleOf } from '../transcripts.view.ts';

/** Told when a transcript is ready or has failed, in the transaction that says so; a hook that throws undoes it. */
export interface TranscriptHooks {
  onOver?: (
    tx: Db,
    over: { accountId: string; event: 'transcript.ready' | 'transcript.failed'; transcriptId: string },
  ) => Promise<void>;
}

/** Of notifications that a recording was not transcribed. */
const failedCause = (id: string): string => `transcript:${id}`;

/** Resolves what was told of a recording that was not transcribed. */
export const resolveFailed = (
  kernel: Kernel,
  tx: Db,
  { id, account_id: accountId }: Pick<TranscriptRow, 'id' | 'account_id'>,
  resolution: EndOfCause['resolution'],
): Promise<void> => resolveNotifications(kernel, tx, [{ accountId, cause: failedCause(id), resolution }]);

/** Tells the owner, webhooks and triggers what became of a recording, once a generation. */
export class Tellers {
  readonly #kernel: Kernel;
  readonly #hooks: TranscriptHooks;

  constructor(kernel: Kernel, hooks: TranscriptHooks) {
    this.#kernel = kernel;
    this.#hooks = hooks;
  }

  /** All is there. */
  async ready(tx: Db, row: TranscriptRow): Promise<void> {
    await resolveFailed(this.#kernel, tx, row, 'recovered');
    await this.#tell(tx, row, 'ready', (words) => lacksOf(row, words));
  }

  /** A step failed for good. */
  async failed(tx: Db, row: TranscriptRow): Promise<void> {
    await this.#tell(tx, row, 'failed', () => row.error ?? '');
  }

  async #tell(
    tx: Db,
    row: TranscriptRow,
    how: 'ready' | 'failed',
    bodyOf: (words: Transcripts) => string,
  ): Promise<void> {
    const type = `transcript.${how}` as const;
    await notify(this.#kernel, tx, {
      accountId: row.account_id,
      dedupeKey: `${type}:${row.id}:${row.generation}:${row.finalized_at ?? ''}`,
      type,
      says: ({ transcripts: words }) => ({ title: words[how](titleOf(row)), body: bodyOf(words).slice(0, 1_000) }),
      url: deepLink(this.#kernel.config, 'transcripts', row.id),
      severity: type === 'transcript.ready' ? 'info' : 'warning',
      data: { transcript_id: row.id },
      ...(type === 'transcript.failed' && { cause: failedCause(row.id) }),
    });
    await this.#hooks.onOver?.(tx, { accountId: row.account_id, event: type, transcriptId: row.id });
  }
}

type Transcripts = Words['alerts']['transcripts'];

const lacksOf = ({ degraded }: TranscriptRow, { lacks }: Transcripts): string =>
  degraded.map((lack) => (lacks as Readonly<Record<string, string>>)[lack] ?? lack).join(' ');
