import type { ChangeRecord } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { inSlices } from '../../kernel/base/slices.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { currentSteps } from './pipeline/steps.sql.ts';
import { speakersOf, utterancesOf, wordsOfMinutes } from './text/text.sql.ts';
import { unpackWords } from './text/words.ts';
import { firstState, moveOfTranscript, type TranscriptGiven, type TranscriptMove } from './transcripts.moves.ts';
import type { TranscriptChange, TranscriptRow } from './transcripts.rows.ts';
import {
  bookmarksOf,
  changeTranscript,
  deleteTranscript,
  findByClient,
  findTranscript,
  insertTranscript,
  lockTranscript,
  type NewTranscript,
  tracksOf,
  transcriptBytesQuota,
  transcriptsQuota,
} from './transcripts.sql.ts';
import { type Beside, titleOf, toSummary, toTranscript, toUtterances } from './transcripts.view.ts';

const topic = 'transcripts';
/** Of text and gzipped words: with more, a recording is read and answered when it is its account's turn. */
const longBytes = 64 * 1024;

/** Transcripts of all accounts, as the routes, the pipeline and other features use them. */
export class Transcripts {
  readonly #kernel: Kernel;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Begins a recording; one of the same client's id is there already. Throws 429 when the account may have no more. */
  async create(tx: Db, given: Omit<NewTranscript, 'state'>): Promise<{ created: boolean; row: TranscriptRow }> {
    const { config, clock } = this.#kernel;
    const { accountId, clientId } = given;
    const before = clientId === null ? undefined : await findByClient(tx, accountId, clientId);
    if (before) return { created: false, row: before };
    await checkQuota(config, tx, transcriptsQuota, accountId);
    await checkQuota(config, tx, transcriptBytesQuota, accountId);
    const row = await insertTranscript(tx, clock, { ...given, state: firstState });
    if (!row) {
      // Another request of the same client came meanwhile.
      const other = clientId === null ? undefined : await findByClient(tx, accountId, clientId);
      if (other) return { created: false, row: other };
      throw notFound('transcript');
    }
    await this.tell(tx, 'created', row);
    return { created: true, row };
  }

  /** Throws 404. */
  async get(db: Db, accountId: string, id: string): Promise<TranscriptRow> {
    const row = await findTranscript(db, accountId, id);
    if (!row) throw notFound('transcript');
    return row;
  }

  /** The same, locked until the transaction ends. */
  async lock(tx: Db, accountId: string, id: string): Promise<TranscriptRow> {
    const row = await lockTranscript(tx, accountId, id);
    if (!row) throw notFound('transcript');
    return row;
  }

  /** Changes what a person sets. */
  async change(tx: Db, row: TranscriptRow, change: TranscriptChange): Promise<TranscriptRow> {
    const now = await readNow(tx, this.#kernel.clock);
    const changed = await changeTranscript(tx, now.iso, row.id, change);
    await this.tell(tx, 'updated', changed);
    return changed;
  }

  /** Moves a locked transcript; undefined when the table does not allow it. */
  async move<N extends TranscriptMove>(
    tx: Db,
    now: Instant,
    row: TranscriptRow,
    name: N,
    given: TranscriptGiven<N>,
  ): Promise<TranscriptRow | undefined> {
    const change = moveOfTranscript(row, name, given, now);
    if (!change) return undefined;
    const moved = await changeTranscript(tx, now.iso, row.id, change);
    await this.tell(tx, 'updated', moved);
    return moved;
  }

  /** Deletes a locked transcript with all that belongs to it, but for its audio. */
  async remove(tx: Db, row: TranscriptRow): Promise<void> {
    await deleteTranscript(tx, row.id);
    await this.#kernel.feed.record(tx, [{ accountId: row.account_id, topic, op: 'deleted', id: row.id }]);
  }

  /** Tells those who follow the account's transcripts. */
  async tell(tx: Db, op: 'created' | 'updated', row: TranscriptRow): Promise<void> {
    const title = titleOf(row).slice(0, 300);
    const record: ChangeRecord<'transcripts'> = { id: row.id, status: row.state, title, updated_at: row.updated_at };
    await this.#kernel.feed.record(tx, [{ accountId: row.account_id, topic, op, id: row.id, record }]);
  }

  /** The rows that lists show beside transcripts. */
  async beside(db: Db, rows: readonly TranscriptRow[]): Promise<Map<string, Beside>> {
    const ids = rows.map(({ id }) => id);
    const [speakers, tracks, steps] = await Promise.all([
      speakersOf(db, ids),
      tracksOf(db, ids),
      currentSteps(db, ids),
    ]);
    return new Map(
      ids.map((id) => [
        id,
        {
          speakers: speakers.filter(({ transcript_id: of }) => of === id),
          tracks: tracks.filter(({ transcript_id: of }) => of === id),
          step: steps.find(({ transcript_id: of }) => of === id),
        },
      ]),
    );
  }

  /** Records of a list. */
  async summaries(db: Db, rows: readonly TranscriptRow[]) {
    const beside = await this.beside(db, rows);
    return rows.map((row) => toSummary(row, beside.get(row.id) as Beside));
  }

  /** The whole record, without the words of its utterances. */
  whole(db: Db, row: TranscriptRow) {
    return this.#whole(db, row, new Map());
  }

  /** The whole record with its words: 100,000 of them in three hours of several who speak fast. */
  async withWords(context: Context, row: TranscriptRow) {
    const { db } = context;
    await this.inTurn(context, row);
    return this.#whole(db, row, await unpackWords(await wordsOfMinutes(db, row.id)));
  }

  /** Waits until it is the account's turn to read what was said in a long recording. */
  async inTurn(context: Context, { bytes }: TranscriptRow): Promise<void> {
    if (bytes > longBytes) await context.beginLong();
  }

  async #whole(db: Db, row: TranscriptRow, words: Awaited<ReturnType<typeof unpackWords>>) {
    const [beside, utterances, bookmarks] = await Promise.all([
      this.beside(db, [row]),
      utterancesOf(db, row.id),
      bookmarksOf(db, row.id),
    ]);
    const shown = await inSlices(toUtterances(utterances, words));
    return toTranscript(row, { ...(beside.get(row.id) as Beside), utterances: shown, bookmarks });
  }
}
