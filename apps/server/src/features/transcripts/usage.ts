import { contract, mostRecordingMs } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { allowanceOf } from './library/allowance.ts';

export const usage = operation(contract.transcripts.usage, async ({ db, kernel, actor }) => {
  const { limitMs, used_ms, reserved_ms, period_start, period_end, recordings } = await allowanceOf(
    kernel,
    db,
    actor.accountId,
  );
  return {
    period_start,
    period_end,
    limit_ms: limitMs,
    used_ms,
    reserved_ms,
    remaining_ms: Math.max(0, limitMs - used_ms - reserved_ms),
    max_recording_ms: mostRecordingMs,
    recordings,
  };
});
