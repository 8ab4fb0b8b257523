import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { NotApproved, toOpError } from '../failure.ts';
import type { Execution, RunTask } from './context.ts';
import { runHttp } from './http.ts';
import type { RunOutcome } from './journal.ts';
import { runAgent, runShell } from './shell.ts';
import type { OutputTail } from './tail.ts';

const maxError = 2000;
/** Beyond killing and draining: after that a run that hangs is left behind. */
const hangMs = 3000;

/** Executes a run; never throws. The outcome has what the run wrote, scrubbed. */
export async function execute(task: RunTask, execution: Execution, log: (text: string) => void): Promise<RunOutcome> {
  let shown: OutputTail | undefined;
  const onTail = (tail: OutputTail) => {
    shown = tail;
    execution.onTail(tail);
  };
  const outcome = await Promise.race([
    dispatch(task, { ...execution, onTail }).catch((error: unknown) => failureOf(error, task, execution, log)),
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

async function dispatch(task: RunTask, execution: Execution): Promise<RunOutcome> {
  if (task.kind === 'shell') return runShell(task, execution);
  if (task.kind === 'agent') return runAgent(task, execution);
  if (task.kind === 'http') return runHttp(task, execution);
  return { ok: false, error: `this host does not run ${task.kind}` };
}

function failureOf(error: unknown, task: RunTask, { signal }: Execution, log: (text: string) => void): RunOutcome {
  // When the end was ordered, that is the reason, whatever failed because of it.
  if (signal.aborted) return { ok: false, error: String(signal.reason) };
  if (error instanceof z.ZodError) return { ok: false, error: `spec: ${error.issues[0]?.message ?? 'malformed'}` };
  if (error instanceof NotApproved) return { ok: false, error: error.message, not_started: 'not_approved' };
  const failure = toOpError(error);
  if (failure.message === 'internal_error') log(`run ${task.id} failed: ${String(failure.cause)}`);
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
