import type { prompt as record } from '@svc/contract';
import type { z } from 'zod';
import type { PromptRow } from './prompts.sql.ts';

/** A prompt as it is answered. */
export function toPrompt(row: PromptRow): z.input<typeof record> {
  const { id, prompt, text_hash, source, auto_run, state, created_at, updated_at } = row;
  const optional = {
    goal_key: row.goal_key,
    not_before: row.not_before,
    target_device_id: row.target_device_id,
    match_ref: row.match_ref,
    match_turn_id: row.match_turn_id,
    run_session_id: row.run_session_id,
    waiting_for: waitingFor(row),
    last_turn: row.last_turn,
    report: row.report,
    launched_at: row.launched_at,
    sent_at: row.sent_at,
    answered_at: row.answered_at,
    verified_at: row.verified_at,
    superseded_by: row.superseded_by,
  };
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null));
  return {
    id,
    prompt,
    text_hash: text_hash.toString('hex'),
    source,
    auto_run,
    status: state,
    created_at,
    updated_at,
    ...given,
  };
}

/** The reason why a launch waits; null: it does not wait. */
function waitingFor({ state, run }: PromptRow): string | null {
  if (state !== 'launched' || run === null) return null;
  if (run.state === 'waiting' && run.device === null) return 'no device with an agent';
  if (run.state === 'waiting') return `device ${run.device}: it has not taken the prompt`;
  return run.state === 'taken' ? `device ${run.device}: it took the prompt and has not begun` : null;
}
