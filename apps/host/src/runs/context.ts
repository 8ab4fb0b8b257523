import type { contract, RouteOutput } from '@svc/contract';
import { OpError } from '../failure.ts';
import type { ProcessGroups } from '../groups.ts';
import type { Policy } from '../policy.ts';
import type { Approvals } from './approvals.ts';
import type { EnvironmentOptions } from './environment.ts';
import type { OutputTail } from './tail.ts';

/** A run that was claimed. */
export type ClaimedRun = NonNullable<RouteOutput<typeof contract.scheduler.claim>['run']>;

/** The task of a run: the fields of a claimed run that an execution needs. */
export type RunTask = Pick<ClaimedRun, 'id' | 'attempt' | 'schedule_id' | 'kind' | 'spec' | 'command_hash' | 'ignore'>;

/** Shared parts of every execution on this machine. */
export interface Machine extends EnvironmentOptions {
  approvals: Approvals;
  groups: ProcessGroups;
  /** The daemon's own files, as real paths. */
  hidden: readonly string[];
  /** Directory for the files that runs report in. */
  reportDirectory: string;
  /** Milliseconds between SIGTERM and SIGKILL. */
  killAfterMs: number;
}

/** Context of one execution. */
export interface Execution {
  machine: Machine;
  policy: Policy;
  /** Its reason is the `error` that is reported. */
  signal: AbortSignal;
  /** Writes the process down before the command starts. */
  onStarted: (pid: number) => Promise<void>;
  /** Told as soon as there is something to show. */
  onTail: (tail: OutputTail) => void;
}

/** Why a run was ended, or could not be done. */
export function reasonOf(signal: AbortSignal): OpError {
  return new OpError(String(signal.reason));
}
