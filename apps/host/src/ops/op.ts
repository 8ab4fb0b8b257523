import { type HostOp, type HostOpArgs, type HostOpResult, hostOps, withoutNulls, wordsFor } from '@svc/contract';
import { OpError, toOpError } from '../failure.ts';
import type { ProcessGroups } from '../groups.ts';
import type { Places } from '../places.ts';
import type { Policy } from '../policy.ts';

/** Context of every operation. */
export interface OpContext {
  /** Aborts when nobody waits any longer; its reason is `timeout`, `cancelled` or `host_stopped`. */
  readonly signal: AbortSignal;
  readonly places: Places;
  readonly policy: Policy;
  readonly groups: ProcessGroups;
  /** A directory that no operation reaches, for what an operation needs while it runs. */
  readonly scratch: string;
  /** Environment of child processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killAfterMs: number;
  /** Name of this host. */
  readonly name: string;
}

/** An operation: takes the arguments of the frame, answers `result`, throws `OpError`. */
export type Op<N extends HostOp = HostOp> = (args: unknown, context: OpContext) => Promise<HostOpResult<N>>;

/** Makes the operation `name` of the contract, which checks its arguments first. */
export function defineOp<N extends HostOp>(
  name: N,
  run: (args: HostOpArgs<N>, context: OpContext) => Promise<HostOpResult<N>>,
): Op<N> {
  return async (args, context) => {
    const checked = checkArgs(name, args);
    return run(checked, context).catch((error) => {
      throw toOpError(error);
    });
  };
}

/** The arguments of an operation, as the contract has them; throws `OpError` `bad_args: <what>`. */
export function checkArgs<N extends HostOp>(name: N, args: unknown): HostOpArgs<N> {
  const parsed = hostOps[name].args.safeParse(withoutNulls(hostOps[name].args, args), { error: wordsFor });
  if (parsed.success) return parsed.data as HostOpArgs<N>;
  const issue = parsed.error.issues[0];
  throw new OpError(`bad_args: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`);
}
