import { faultText } from '@svc/netguard/faults';
import { type ProcessId, processStart } from '@svc/process-lock';
import { errnoOf } from '../failure.ts';
import type { OpOutcome } from '../report.ts';
import type { ExecRecord } from './journal.ts';
import type { ExecEnd } from './process.ts';

/** The reason of a command that is ended because somebody asked, and its error. */
export const cancelled = 'cancelled';

/** How a command ended whose process is gone. What nobody wrote down is not guessed. */
export function outcomeOf(
  { ending, ended_processes }: ExecRecord,
  leader: ProcessId,
  { hasBegun, code, timedOut, endedProcesses, truncated }: ExecEnd,
): OpOutcome {
  if (timedOut) {
    const ended = endedProcesses === undefined ? {} : { ended_processes: endedProcesses };
    return { ok: true, result: { exit_code: null, timed_out: true, truncated, ...ended } };
  }
  if (ending) {
    const told = ended_processes !== undefined && {
      result: { exit_code: null, timed_out: false, truncated, ended_processes },
    };
    return { ok: false, error: cancelled, ...told };
  }
  if (code !== undefined) return { ok: true, result: { exit_code: code, timed_out: false, truncated } };
  if (!isOfThisBoot(leader)) return { ok: false, error: 'host_restarted', unknown: true };
  return hasBegun ? { ok: false, error: 'process_lost', unknown: true } : { ok: false, error: 'not_started' };
}

/** Whether the machine was not restarted since a process began; on Linux, where its text begins with the id of the boot. */
export const isOfThisBoot = ({ started }: ProcessId): boolean =>
  started.split('/')[0] === processStart(process.pid)?.split('/')[0];

/** The same, when not all of its output is at the gateway. */
export function cutOf(outcome: OpOutcome): OpOutcome {
  return outcome.result === undefined ? outcome : { ...outcome, result: { ...outcome.result, truncated: true } };
}

/** The error of a command that is not started because it cannot be written down. */
export function journalError(error: unknown): string {
  const code = errnoOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'host_disk_full';
  return code === 'E2BIG' ? 'bad_args: command: too long' : `host_journal_failed: ${code ?? faultText(error)}`;
}
