import { z } from 'zod';
import { OpError, toOpError } from '../failure.ts';
import type { ProcessGroups } from '../groups.ts';
import type { Places } from '../places.ts';
import type { Policy } from '../policy.ts';

/** What every operation may use. */
export interface OpContext {
  /** Aborts when nobody waits any longer; its reason is `timeout`, `cancelled` or `host_stopped`. */
  readonly signal: AbortSignal;
  readonly places: Places;
  readonly policy: Policy;
  readonly groups: ProcessGroups;
  /** What child processes inherit. */
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killAfterMs: number;
  /** Name of this host. */
  readonly name: string;
}

/** An operation: takes the arguments of the frame, answers `result`, throws `OpError`. */
export type Op = (args: unknown, context: OpContext) => Promise<unknown>;

/** Makes an operation whose arguments are checked by `schema` first: `bad_args: <what>`. */
export function defineOp<S extends z.ZodType>(
  schema: S,
  run: (args: z.output<S>, context: OpContext) => Promise<unknown>,
): Op {
  return async (args, context) => {
    const parsed = schema.safeParse(args);
    if (parsed.success) {
      return run(parsed.data, context).catch((error) => {
        throw toOpError(error);
      });
    }
    const issue = parsed.error.issues[0];
    throw new OpError(`bad_args: ${[issue?.path.join('.'), issue?.message].filter(Boolean).join(': ')}`);
  };
}
