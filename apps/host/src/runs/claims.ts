import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { Policy, PolicySource } from '../policy.ts';
import { lacksScope } from '../refusals.ts';
import { describeFailure } from '../report.ts';
import type { Approvals } from './approvals.ts';
import type { ClaimedRun } from './context.ts';
import { isRefusal } from './lease.ts';
import type { Runner } from './runner.ts';

/** How claims are made. */
interface ClaimOptions {
  client: Client;
  policy: PolicySource;
  runner: Runner;
  approvals: Pick<Approvals, 'onChange'>;
  /** Smallest and largest wait after a failure, in milliseconds. */
  retryMs: readonly [number, number];
  log: (text: string) => void;
  signal: AbortSignal;
}

/** Seconds that the gateway keeps a claim waiting, and milliseconds until such a call is taken for dead. */
const waitSeconds = 25;
const callMs = 40_000;
/** A gateway that answers "nothing" at once (it is about to stop) is not asked again before. */
const emptyMs = 1000;

/** Claims runs while there are free slots, until `signal` aborts. A claim that fails is made again, whatever happened. */
export async function claimRuns(options: ClaimOptions): Promise<void> {
  const { runner, signal } = options;
  const backoff = createBackoff(...options.retryMs);
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  let told = '';
  // The first claim too: something may have been approved while no daemon ran.
  let again = true;
  options.approvals.onChange(() => void claimAgain(options).catch(() => {}), signal);
  while (!signal.aborted) {
    const policy = await options.policy.current();
    if (runner.running() >= policy.parallel || kindsOf(policy).length === 0) {
      // The policy may change meanwhile: it is looked at again now and then.
      await Promise.race([runner.freed(), aborted, sleep(callMs, undefined, { ref: false, signal }).catch(() => {})]);
      continue;
    }
    const asked = performance.now();
    try {
      const run = await claim(options, policy, { wait_s: waitSeconds, ...(again && { again }) });
      again = false;
      told = '';
      backoff.reset();
      if (run) runner.start(run, asked);
      else if (performance.now() - asked < emptyMs) await sleep(emptyMs, undefined, { signal }).catch(() => {});
    } catch (failure) {
      if (signal.aborted) return;
      const reason = describeFailure(failure);
      if (reason !== told && !isOfEveryCall(failure) && !lacksScope(failure))
        options.log(`cannot claim runs: ${reason}; trying again`);
      told = reason;
      await sleep(waitAfter(failure, backoff.next(), options.retryMs[1]), undefined, { signal }).catch(() => {});
    }
  }
}

/** Something was approved: what this machine handed back is offered once more, beside the claim that waits. */
async function claimAgain(options: ClaimOptions): Promise<void> {
  const { runner } = options;
  const policy = await options.policy.current();
  const hasRoom = runner.running() < policy.parallel && kindsOf(policy).length > 0;
  const asked = performance.now();
  // Without it the next claim after a restart tells.
  const run = hasRoom ? await claim(options, policy, { wait_s: 0, again: true }).catch(() => null) : null;
  if (run) runner.start(run, asked);
}

async function claim(
  { client, signal }: ClaimOptions,
  policy: Policy,
  how: { wait_s: number; again?: true },
): Promise<ClaimedRun | null> {
  const body = { kinds: kindsOf(policy), tags: [...policy.tags], ...how };
  const call = { signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]) };
  return (await client.scheduler.claim({ body }, call)).run;
}

/** Kinds of runs for this machine: agents only when it has a command for them; phone actions never. */
export function kindsOf({ kinds, agent }: Policy): Policy['kinds'] {
  return kinds.filter((kind) => kind !== 'agent' || agent !== undefined);
}

/** The hosts stream has failed for the same reason, and said so. Not 403: a key may have one scope and not the other. */
function isOfEveryCall(failure: unknown): boolean {
  return failure instanceof SvcError && [0, 401, 402].includes(failure.status);
}

function waitAfter(failure: unknown, wait: number, most: number): number {
  if (!(failure instanceof SvcError)) return wait;
  const refused = isRefusal(failure) || [401, 402, 403].includes(failure.status);
  return Math.max(refused ? most / 2 + wait / 2 : wait, Math.min(failure.retryAfter ?? 0, 600) * 1000);
}
