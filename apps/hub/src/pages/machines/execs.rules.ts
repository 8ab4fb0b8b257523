/** A command of a machine, as far as its end is told by it. */
interface Ended {
  state: 'waiting' | 'sent' | 'running' | 'done' | 'expired' | 'cancelled' | 'unknown';
  ok?: boolean | undefined;
  exit_code?: number | undefined;
  error?: string | undefined;
}

/** What became of a command: `done` of the API says only that its machine has answered. */
export type ExecOutcome = Ended['state'] | 'failed' | 'refused';

/** Errors of a machine that did not begin it. */
const refusals = /^(?:needs_approval|refused_by_\w+|outside_roots|unknown_op|busy|host_stopped)\b/;

export function outcomeOf({ state, ok, exit_code: exit = 0, error = '' }: Ended): ExecOutcome {
  if (state !== 'done') return state;
  if (ok === false) return refusals.test(error) ? 'refused' : 'failed';
  return exit === 0 ? 'done' : 'failed';
}
