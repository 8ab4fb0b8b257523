import { contract, mostRecordingMs } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { SpeechProviders } from '../speech/index.ts';
import { allowanceOf } from './library/allowance.ts';

export const usage = (speech: Pick<SpeechProviders, 'isEmpty'>): Operation =>
  operation(contract.transcripts.usage, async ({ db, kernel, actor }) => {
    const found = await allowanceOf(kernel, db, actor.accountId);
    const { limitMs: limit_ms, used_ms, reserved_ms, period_start, period_end, recordings } = found;
    const remaining_ms = Math.max(0, limit_ms - used_ms - reserved_ms);
    const terms = { max_recording_ms: mostRecordingMs, heard: !speech.isEmpty };
    return { period_start, period_end, limit_ms, used_ms, reserved_ms, remaining_ms, recordings, ...terms };
  });
