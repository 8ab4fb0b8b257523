import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { toOpError } from '../failure.ts';
import type { Execution, Work } from './context.ts';
import { runHttp } from './http.ts';
import type { RunOutcome } from './journal.ts';
import { runAgent, runShell } from './shell.ts';
import type { OutputTail } from './tail.ts';

const maxError = 2000;
/** Beyond killing and draining: after that a run that hangs is left behind. */
const hangMs = 3000;

/** Does the work; never throws. What it wrote is in the outcome, scrubbed. */
export async function execute(work: Work, execution: Execution, log: (text: string) => void): Promise<RunOutcome> {
  let shown: OutputTail | undefined;
  const onTail = (tail: OutputTail) => {
    shown = tail;
    execution.onTail(tail);
  };
  const outcome = await Promise.race([
    dispatch(work, { ...execution, onTail }).catch((error: unknown) => failureOf(error, work, execution, log)),
    hung(execution),
  ]);
  const hash = shown?.hash();
  return {
    ...outcome,
    ...(outcome.error !== undefined && {
      error: outcome.error.replaceAll('\u0000', '').slice(0, maxError).toWellFormed(),
    }),
    ...(shown && { log_tail: shown.text() }),
    ...(hash !== undefined && { output_hash: hash }),
  };
}

async function dispatch(work: Work, execution: Execution): Promise<RunOutcome> {
  if (work.kind === 'shell') return runShell(work, execution);
  if (work.kind === 'agent') return runAgent(work, execution);
  if (work.kind === 'http') return runHttp(work, execution);
  return { ok: false, error: `this host does not run ${work.kind}` };
}

function failureOf(error: unknown, work: Work, { signal }: Execution, log: (text: string) => void): RunOutcome {
  // When the end was ordered, that is the reason, whatever failed because of it.
  if (signal.aborted) return { ok: false, error: String(signal.reason) };
  if (error instanceof z.ZodError) return { ok: false, error: `spec: ${error.issues[0]?.message ?? 'malformed'}` };
  const failure = toOpError(error);
  if (failure.message === 'internal_error') log(`run ${work.id} failed: ${String(failure.cause)}`);
  return { ok: false, error: failure.message };
}

/** A failure some time after the end was ordered, for work that does not end by itself. */
async function hung({ signal, machine }: Execution): Promise<RunOutcome> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await sleep(machine.killAfterMs + hangMs, undefined, { ref: false });
  return { ok: false, error: String(signal.reason) };
}
