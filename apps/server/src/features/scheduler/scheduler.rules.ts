import { type RunState, runStates } from './scheduler.states.ts';
import type { waitReasons } from '@svc/contract';
import type { OnlineHost, ProjectMachine } from './scheduler.runs.sql.ts';
import type { RunRow } from './scheduler.sql.ts';

/** Where a chain stands. */
type ChainMove =
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
  if (done.some((run) => !runStates.isFinal(run.state))) return { do: 'wait' };
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

/** The facts that decide why a pending run waits. */
interface Surroundings {
  now: number;
  mayRun: boolean;
  /** Another run of its schedule is before it. */
  isBlocked: boolean;
  /** Machines of the account that are there. */
  online: readonly OnlineHost[];
  /** Machines of environments in its project. */
  machines: readonly ProjectMachine[];
  /** Devices that approved its command; undefined: it needs no approval. */
  approvedBy: ReadonlySet<string> | undefined;
}

/** Why a pending run waits, and the devices on which it waits. */
interface Waiting {
  reason: (typeof waitReasons)[number];
  on: readonly string[];
}

/** The reason why a pending run waits. */
export function waitingFor(run: RunRow, around: Surroundings): Waiting {
  const { online, approvedBy } = around;
  const nobody = (reason: Waiting['reason']): Waiting => ({ reason, on: [] });
  const these = (reason: Waiting['reason'], hosts: readonly OnlineHost[]): Waiting => ({
    reason,
    on: hosts.map(({ device_id: id }) => id),
  });
  if (!around.mayRun) return nobody('account_paused');
  if (Date.parse(run.not_before) > around.now) return nobody('back_off');
  if (around.isBlocked) return nobody('earlier_run');
  if (run.pool === 'cloud') return nobody('cloud');
  const able = online.filter(({ kinds }) => kinds.includes(run.kind));
  const meant = meantFor(run, able, around.machines);
  if (meant.length === 0 && isStarting(run, around.machines)) return nobody('starting');
  if (meant.length === 0 && able.length > 0 && run.target_type === 'tags') return nobody('tags');
  if (meant.length === 0)
    return { reason: 'no_host', on: run.target_type === 'host' && run.target_id !== null ? [run.target_id] : [] };
  const awake = meant.filter(({ paused }) => !paused);
  if (awake.length === 0) return these('host_paused', meant);
  const isApproved = ({ device_id: id }: OnlineHost): boolean =>
    !run.refused_by.includes(id) && (approvedBy?.has(id) ?? true);
  const ready = awake.filter(isApproved);
  return ready.length > 0 ? these('host_busy', ready) : these('not_approved', awake);
}

/** The machines that a run goes to: its target's, or those of the first failover set of which one is there. */
function meantFor(run: RunRow, hosts: readonly OnlineHost[], machines: readonly ProjectMachine[]): OnlineHost[] {
  const having = (wanted: readonly string[]): OnlineHost[] =>
    hosts.filter(({ tags }) => wanted.every((tag) => tags.includes(tag)));
  const own = hosts.filter((host) => {
    if (run.target_type === 'any') return true;
    if (run.target_type === 'host') return host.device_id === run.target_id;
    if (run.target_type === 'cloud_vm')
      return machines.some((one) => one.is_there && isOfProject(run, one) && one.device_id === host.device_id);
    return run.target_type === 'tags' && having(run.target_tags ?? []).includes(host);
  });
  if (own.length > 0) return own;
  return (run.failover ?? []).map(having).find((found) => found.length > 0) ?? [];
}

const isOfProject = (run: RunRow, { project_id: id }: ProjectMachine): boolean => id === run.target_id;

/** Whether an environment's machine that it may go to is on its way. */
const isStarting = (run: RunRow, machines: readonly ProjectMachine[]): boolean =>
  run.target_type === 'cloud_vm' && machines.some((one) => one.is_coming && isOfProject(run, one));
