import { ApiError } from '../../kernel/base/errors.ts';
import type { PlainAnswer } from '../../kernel/forwarder/owners.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Who } from '../../kernel/records/audit.ts';
import { type EnvironmentState, type Environments, wakeFor } from '../environments/index.ts';

const againSeconds = 5;

/** What to say of a machine that is not there; undefined: nothing that a provider does explains it. */
function wordsOf(state: EnvironmentState | undefined): string | undefined {
  if (state === 'starting' || state === 'creating' || state === 'enrolling')
    return 'the machine of this environment is being started; it is there in a minute or two';
  if (state === 'stopping') return 'the machine of this environment is being stopped; start it again in a moment';
  if (state === 'stopped') return 'the machine of this environment stands still; a maintainer can start it';
  return undefined;
}

/** Starts a machine for whoever wants to reach it, if it stands still and they may; the refusal that says how far it is. */
export async function refusalWhileAway(
  kernel: Pick<Kernel, 'sql'>,
  environments: Environments,
  visitor: { id: string; accountId: string; by: Who },
): Promise<ApiError | undefined> {
  const words = wordsOf(await wakeFor(kernel, environments, visitor));
  return words === undefined
    ? undefined
    : new ApiError('daemon_offline', words, { headers: { 'retry-after': String(againSeconds) } });
}

/** The same for a browser: a page that comes again by itself until the machine is there. */
export async function pageWhileAway(
  kernel: Pick<Kernel, 'sql'>,
  environments: Environments,
  { id, state }: { id: string; state: EnvironmentState },
  visitor: { accountId: string; by: Who } | undefined,
): Promise<PlainAnswer | undefined> {
  if (state === 'running') return undefined;
  const words = wordsOf(visitor ? ((await wakeFor(kernel, environments, { id, ...visitor })) ?? state) : state);
  if (words === undefined) return undefined;
  return {
    status: 503,
    text: `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="${againSeconds}"><title>svc</title><p>${words}.`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'retry-after': String(againSeconds),
    },
  };
}
