import { localeOf, type Words, wordsOf } from '@svc/words';
import { ApiError } from '../../kernel/base/errors.ts';
import type { PlainAnswer } from '../../kernel/forwarder/owners.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Who } from '../../kernel/records/audit.ts';
import { findProfile } from '../accounts/index.ts';
import { type EnvironmentState, type Environments, wakeFor } from '../environments/index.ts';

const againSeconds = 5;

/** What to say of a machine that is not there; undefined: nothing that a provider does explains it. */
function awayOf(state: EnvironmentState | undefined): keyof Words['waking'] | undefined {
  if (state === 'starting' || state === 'creating' || state === 'enrolling') return 'starting';
  return state === 'stopping' || state === 'stopped' ? state : undefined;
}

/** Starts a machine for whoever wants to reach it, if it stands still and they may; the refusal that says how far it is. */
export async function refusalWhileAway(
  kernel: Pick<Kernel, 'sql'>,
  environments: Environments,
  visitor: { id: string; accountId: string; by: Who },
): Promise<ApiError | undefined> {
  const away = awayOf(await wakeFor(kernel, environments, visitor));
  return away === undefined
    ? undefined
    : new ApiError('daemon_offline', wordsOf('en').waking[away], { headers: { 'retry-after': String(againSeconds) } });
}

/**
 * The same for a browser: a page that comes again by itself until the machine is there, in the language of the account that
 * visits, else the one that `language` asks for.
 */
export async function pageWhileAway(
  kernel: Pick<Kernel, 'sql'>,
  environments: Environments,
  { id, state }: { id: string; state: EnvironmentState },
  visitor: { accountId: string; by: Who } | undefined,
  language: string | undefined,
): Promise<PlainAnswer | undefined> {
  if (state === 'running') return undefined;
  const away = awayOf(visitor ? ((await wakeFor(kernel, environments, { id, ...visitor })) ?? state) : state);
  if (away === undefined) return undefined;
  const profile = visitor && (await findProfile(kernel.sql, visitor.accountId));
  const locale = profile?.locale ?? localeOf(language);
  return {
    status: 503,
    text: `<!doctype html><html lang="${locale}"><meta charset="utf-8"><meta http-equiv="refresh" content="${againSeconds}"><title>svc</title><p>${wordsOf(locale).waking[away]}.`,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'retry-after': String(againSeconds),
    },
  };
}
