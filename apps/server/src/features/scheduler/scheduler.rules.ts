import { isFinal } from './scheduler.states.ts';
import type { RunState } from './scheduler.sql.ts';

/** Where a chain stands. */
export type ChainMove =
  | { do: 'wait' }
  | { do: 'step'; index: number; scheduleId: string }
  | { do: 'finish'; ok: boolean; error?: string };

/**
 * The next move of a chain. After a failed step only steps with `on: "always"` run while `stop_on_failure` holds; the
 * chain has succeeded when every step that ran has.
 */
export function nextChainMove(
  spec: { steps: { schedule_id: string; on: 'success' | 'always' }[]; stop_on_failure: boolean },
  done: readonly { chain_step: number | null; state: RunState }[],
): ChainMove {
  if (done.some((run) => !isFinal(run.state))) return { do: 'wait' };
  const ran = new Map(done.map((run) => [run.chain_step, run.state]));
  let failed: number | undefined;
  for (const [index, step] of spec.steps.entries()) {
    const state = ran.get(index);
    if (state === undefined) {
      const blocked = failed !== undefined && spec.stop_on_failure && step.on !== 'always';
      if (!blocked) return { do: 'step', index, scheduleId: step.schedule_id };
    } else if (state !== 'succeeded') {
      failed ??= index;
    }
  }
  return failed === undefined
    ? { do: 'finish', ok: true }
    : { do: 'finish', ok: false, error: `step ${failed + 1} ${ran.get(failed) ?? 'failed'}` };
}

/**
 * Output with what differs from run to run blanked: timestamps, UUIDs, hexadecimal ids, durations. Two outputs that
 * normalise alike are no change (document 2, `notify`).
 */
export function normalizeOutput(output: string): string {
  return output
    .replaceAll(/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?\b/g, '<time>')
    .replaceAll(/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>')
    .replaceAll(/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>')
    .replaceAll(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>')
    .replaceAll(/\b\d+(?:[.,]\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds|min|m|h)\b/g, '<duration>')
    .replaceAll(/\b1[5-9]\d{8}(?:\d{3})?\b/g, '<time>')
    .trim();
}
