import { useWords, type Words } from '../words/words.tsx';
import { Status, type Tone } from './Status.tsx';

/** A state of a run. */
export type RunStateName = keyof Words['runs']['states'];
const tones: Record<RunStateName, Tone> = {
  pending: 'warn',
  awaiting_approval: 'warn',
  running: 'busy',
  succeeded: 'good',
  failed: 'bad',
  timed_out: 'bad',
  skipped: 'rest',
  cancelled: 'rest',
  expired: 'bad',
};

/** The state of a run by word and shape. */
export function RunState({ state }: { state: RunStateName }) {
  const words = useWords();
  return <Status tone={tones[state]}>{words.runs.states[state]}</Status>;
}
