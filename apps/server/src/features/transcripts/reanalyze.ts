import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Settling } from './pipeline/settle.ts';
import { deleteSteps } from './pipeline/steps.sql.ts';
import { checkOver } from './transcripts.over.ts';
import type { Transcripts } from './transcripts.store.ts';
import { hasUtterances } from './text/text.sql.ts';

export const reanalyze = (transcripts: Transcripts, settling: Settling): Operation =>
  operation(contract.transcripts.reanalyze, async (context, { params }) => {
    const { accountId, keyId } = context.actor;
    const row = await context.transaction(async (tx) => {
      const locked = await transcripts.lock(tx, accountId, params.id);
      checkOver(locked);
      if (!(await hasUtterances(tx, locked.id)))
        throw new ApiError('nothing_heard', 'there is nothing to analyze: no word of this recording was heard');
      const now = await readNow(tx, context.clock);
      const moved = await transcripts.move(tx, now, locked, 'reanalyze', { keyId });
      if (!moved) throw new ApiError('still_processing', 'this recording is being processed; wait for its end');
      await deleteSteps(tx, moved.id, moved.generation, ['insights', 'vectors']);
      await settling.plan({ tx, row: moved }, [{ kind: 'insights' }, { kind: 'vectors' }]);
      return moved;
    });
    return { transcript: await transcripts.whole(context.db, row) };
  });
