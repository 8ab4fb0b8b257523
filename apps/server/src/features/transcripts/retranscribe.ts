import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { reserveAgain } from './library/allowance.ts';
import { resolveFailed } from './pipeline/tell.ts';
import type { Settling } from './pipeline/settle.ts';
import { changeStep, deleteSteps, stepsOf } from './pipeline/steps.sql.ts';
import { checkOver } from './transcripts.over.ts';
import { moveOfStep } from './transcripts.moves.ts';
import type { TranscriptRow } from './transcripts.rows.ts';
import type { Transcripts } from './transcripts.store.ts';

/**
 * How often a recording that was heard may be heard anew: its minutes are charged once, and without a bound 3 h of allowance
 * would be heard for ever.
 */
const mostAnew = 10;

/** Transcribes anew. After a failure what was done stays done, and what failed is tried again. */
export const retranscribe = (transcripts: Transcripts, settling: Settling): Operation =>
  operation(contract.transcripts.retranscribe, async (context, { params }) => {
    const { accountId, keyId } = context.actor;
    const row = await context.transaction(async (tx) => {
      const locked = await transcripts.lock(tx, accountId, params.id);
      checkOver(locked);
      if (locked.audio_purged_at !== null)
        throw new ApiError('audio_purged', 'the audio of this recording was deleted after 30 days; its text stays');
      await reserveAgain(context.kernel, tx, { transcriptId: locked.id, accountId, ms: locked.duration_ms ?? 0 });
      const now = await readNow(tx, context.clock);
      const { isResumed, isHeard, given } = await resetFailed(tx, now, locked);
      const moved = await transcripts.move(tx, now, locked, 'retranscribe', { keyId });
      if (moved) await resolveFailed(context.kernel, tx, moved, 'started');
      if (!moved) throw new ApiError('still_processing', 'this recording is being processed; wait for its end');
      if (isResumed) {
        await settling.plan({ tx, row: moved }, isHeard ? [{ kind: 'stitch' }] : []);
        return moved;
      }
      const tooOften = `this recording was transcribed anew ${mostAnew} times; record it as another`;
      if (moved.generation >= mostAnew) throw new ApiError('quota_exceeded', tooOften);
      const anew = await transcripts.change(tx, moved, { generation: moved.generation + 1 });
      await settling.plan({ tx, row: anew }, [{ kind: 'prepare', ...(given && { given }) }]);
      return anew;
    });
    return { transcript: await transcripts.whole(context.db, row) };
  });

/**
 * Steps that failed are due again, unless none did. `isHeard`: all windows are done, and only putting them together
 * failed. `given` is what the preparation was asked to.
 */
async function resetFailed(
  tx: Db,
  now: Instant,
  row: TranscriptRow,
): Promise<{ isResumed: boolean; isHeard: boolean; given?: object }> {
  const steps = await stepsOf(tx, row.id, row.generation);
  // What follows from the windows follows from them anew.
  await deleteSteps(tx, row.id, row.generation, ['stitch', 'insights', 'vectors']);
  const failed = steps.filter(({ kind, state }) => state === 'failed' && (kind === 'prepare' || kind === 'window'));
  const isStitched = failed.length > 0 || steps.some(({ kind, state }) => kind === 'stitch' && state === 'failed');
  for (const step of failed) {
    const change = moveOfStep(step, 'reset', {}, now);
    if (change) await changeStep(tx, step.id, change);
  }
  if (isStitched) return { isResumed: true, isHeard: failed.length === 0 };
  const given = steps.find(({ kind }) => kind === 'prepare')?.given;
  return { isResumed: false, isHeard: false, ...(given && { given }) };
}
