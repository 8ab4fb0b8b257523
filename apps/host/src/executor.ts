import { setTimeout as sleep } from 'node:timers/promises';
import { contract, type HostOp, type RouteEvent } from '@svc/contract';
import type { TerminalAnswer } from './approval.ts';
import { OpError, toOpError } from './failure.ts';
import type { ProcessGroups } from './groups.ts';
import { isServed, ops } from './ops/index.ts';
import type { OpContext } from './ops/op.ts';
import type { Policy, PolicySource } from './policy.ts';
import type { OpOutcome, Reporter } from './report.ts';

/** An `exec` frame of the hosts stream. */
export type ExecFrame = Extract<RouteEvent<typeof contract.hosts.stream>, { event: 'exec' }>['data'];

/** What operations run with. */
interface OpOptions {
  groups: ProcessGroups;
  environment: Readonly<Record<string, string>>;
  /** Directory for what operations need while they run; among `hidden`. */
  scratch: string;
  /** The daemon's own files, as real paths. */
  hidden: readonly string[];
  /** Name of this host under `policy`. */
  nameOf: (policy: Policy) => string;
  killAfterMs: number;
}

/** What decides whether an operation runs, and runs it. */
export interface OperationOptions extends OpOptions {
  policy: PolicySource;
  /** Asks the person at the terminal whether `frame` may run. */
  approve: (frame: ExecFrame, args: Record<string, unknown>, signal: AbortSignal) => Promise<TerminalAnswer>;
  log: (text: string) => void;
}

/** Options of the executor. */
interface ExecutorOptions extends OperationOptions {
  reporter: Reporter;
  /** Does what nobody waits for. */
  detached: { take(frame: ExecFrame): void; cancel(id: string): void };
}

/** Runs the operations that frames ask for and reports what became of them. */
interface Executor {
  /** Starts an operation; returns at once. A frame that is not as the contract says is logged and dropped. */
  exec(data: unknown): void;
  /** Ends an operation nobody waits for any longer; nothing is reported. */
  cancel(data: unknown): void;
  /** Ends all operations and refuses new ones; resolves when all outcomes are reported. */
  stop(): Promise<void>;
}

const maxParallel = 16;
/** Beyond killing and draining: after that an operation that hangs (a dead network file system) is left behind. */
const hangMs = 3000;

const needsApproval =
  'needs_approval: nobody answered at the terminal of the daemon; see ops.shell in the policy file of that host';

/** Makes the executor of a daemon. */
export function createExecutor(options: ExecutorOptions): Executor {
  const running = new Map<string, AbortController>();
  const reports = new Set<Promise<void>>();
  let stopping = false;

  const report = (frame: ExecFrame, outcome: OpOutcome, deadline: number) => {
    const posted = options.reporter.report(frame.req_id, outcome, deadline).finally(() => reports.delete(posted));
    reports.add(posted);
  };

  const start = async (frame: ExecFrame, controller: AbortController, deadline: number) => {
    const timer = setTimeout(() => controller.abort('timeout'), frame.timeout_ms);
    const outcome = await orHung(attempt(frame, options, controller.signal), controller.signal, options.killAfterMs);
    clearTimeout(timer);
    // Before the report: once the gateway has the outcome it may send the next operation.
    running.delete(frame.req_id);
    if (controller.signal.reason !== 'cancelled') report(frame, outcome, deadline);
  };

  return {
    exec(data) {
      const parsed = contract.hosts.stream.answers.schemas.exec.safeParse(data);
      if (!parsed.success) return options.log('dropped a frame that is not as the contract says');
      const frame = parsed.data;
      if (frame.detached) return options.detached.take(frame);
      // Counted from here: the clocks of two machines need not agree, so the frame's `deadline` tells nothing.
      const deadline = performance.now() + frame.timeout_ms;
      if (running.has(frame.req_id)) return;
      if (stopping) return report(frame, { ok: false, error: 'host_stopped' }, deadline);
      if (running.size >= maxParallel) return report(frame, { ok: false, error: 'busy' }, deadline);
      const controller = new AbortController();
      running.set(frame.req_id, controller);
      const started = start(frame, controller, deadline).finally(() => reports.delete(started));
      reports.add(started);
    },
    cancel(data) {
      const parsed = contract.hosts.stream.answers.schemas.exec_cancel.safeParse(data);
      if (!parsed.success) return;
      const { req_id: id } = parsed.data;
      running.get(id)?.abort('cancelled');
      options.detached.cancel(id);
    },
    async stop() {
      stopping = true;
      for (const controller of running.values()) controller.abort('host_stopped');
      while (reports.size > 0) await Promise.allSettled(reports);
    },
  };
}

async function attempt(frame: ExecFrame, options: ExecutorOptions, signal: AbortSignal): Promise<OpOutcome> {
  // Before the gateway stops waiting: its caller hears that nobody answered, not that the host is silent.
  const patienceMs = frame.timeout_ms - Math.min(1000, Math.ceil(frame.timeout_ms / 5));
  try {
    return { ok: true, result: await perform(await admit(frame, options, { signal, patienceMs }), options, signal) };
  } catch (error) {
    return failureOf(error, frame, options, signal);
  }
}

/** An operation that may run now. */
export interface Admitted {
  op: HostOp;
  args: Record<string, unknown>;
  policy: Policy;
}

/** The operation of a frame, once the policy, or the person that it asks, lets it run; throws `OpError` when it may not. */
export async function admit(
  frame: ExecFrame,
  options: Pick<OperationOptions, 'policy' | 'approve'>,
  { signal, patienceMs }: { signal: AbortSignal; patienceMs: number },
): Promise<Admitted> {
  const { op } = frame;
  if (!isServed(op)) throw new OpError('unknown_op');
  const policy = await options.policy.current();
  const args = argumentsOf(frame);
  const decision = policy.decisions[op];
  if (decision === 'refuse') throw new OpError('refused_by_policy');
  if (decision === 'ask') {
    const answer = await options.approve(frame, args, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]));
    if (answer === 'no') throw new OpError('refused_by_user');
    if (answer === 'unavailable') throw new OpError(needsApproval);
  }
  if (signal.aborted) throw new OpError(String(signal.reason));
  return { op, args, policy };
}

/** The result of an operation that may run; throws `OpError`. */
export function perform({ op, args, policy }: Admitted, options: OpOptions, signal: AbortSignal): Promise<unknown> {
  const context: OpContext = {
    signal,
    places: { roots: policy.roots, hidden: options.hidden },
    policy,
    groups: options.groups,
    scratch: options.scratch,
    environment: options.environment,
    killAfterMs: options.killAfterMs,
    name: options.nameOf(policy),
  };
  return ops[op](args, context);
}

/** How an operation ended that threw. */
export function failureOf(
  error: unknown,
  { op }: ExecFrame,
  { log }: Pick<OperationOptions, 'log'>,
  signal: AbortSignal,
): OpOutcome {
  // When the end was ordered, that is the reason, whatever failed because of it.
  if (signal.aborted) return { ok: false, error: error instanceof OpError ? error.message : String(signal.reason) };
  const failure = toOpError(error);
  if (failure.message === 'internal_error') log(`${op} failed: ${String(failure.cause)}`);
  return { ok: false, error: failure.message };
}

/** Arguments in `args`, and those that a caller put beside it: further fields of its body travel as they are. */
function argumentsOf(frame: ExecFrame): Record<string, unknown> {
  const own = contract.hosts.stream.answers.schemas.exec.shape;
  const beside = Object.entries(frame).filter(([name]) => !Object.hasOwn(own, name));
  return { ...Object.fromEntries(beside), ...frame.args };
}

/** `work`, or a failure some time after `signal` aborted when the work does not end by itself. */
async function orHung(work: Promise<OpOutcome>, signal: AbortSignal, killAfterMs: number): Promise<OpOutcome> {
  const given = Promise.withResolvers<OpOutcome>();
  const onAbort = (): void => {
    void sleep(killAfterMs + hangMs, undefined, { ref: false }).then(() => {
      given.resolve({ ok: false, error: String(signal.reason) });
    });
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, given.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
