import { ApiError } from '../../kernel/base/errors.ts';
import type { TranscriptRow } from './transcripts.rows.ts';
import { transcriptStatesTable } from './transcripts.states.ts';

/** Throws 409 unless the processing of a transcript is over. */
export function checkOver({ state }: Pick<TranscriptRow, 'state'>): void {
  if (transcriptStatesTable.where('over').includes(state)) return;
  if (transcriptStatesTable.where('processing').includes(state))
    throw new ApiError('still_processing', 'this recording is being processed; wait until it is ready or has failed');
  throw new ApiError('not_finalized', 'this recording was not finalized yet');
}
