import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { networkOf } from '../../../kernel/base/networks.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Who } from '../../../kernel/records/audit.ts';
import type { Guesses } from './guesses.ts';
import type { PasswordHashing } from './hashing.ts';
import { freshenLogin } from './logins.ts';
import { signInByPasskey } from './passkeys.ts';
import { provePassword } from './passwords.ts';

/** The parts of the process with which people prove who they are; one of each in a process. */
export interface Proofs {
  hashing: PasswordHashing;
  guesses: Guesses;
}

/** What a signed-in person shows to prove anew who they are. */
type Shown = { password: string } | { passkey: object };

/**
 * Checks a fresh proof of a person who is signed in. A right one is noted on their login: `at` is when, in milliseconds since the
 * epoch. `ended`: the login does not count any more. Every try has its line in the audit log.
 */
export async function proveAgain(
  parts: Kernel & Proofs,
  {
    accountId,
    loginId,
    address,
    by,
    shown,
  }: { accountId: string; loginId: string; address: string; by: Who; shown: Shown },
): Promise<{ at: number } | 'wrong' | 'ended' | { waitSeconds: number }> {
  const network = networkOf(address);
  const isPasskey = 'passkey' in shown;
  const answer = isPasskey
    ? await signInByPasskey(parts, { accountId, response: shown.passkey as AuthenticationResponseJSON })
    : await provePassword(parts, { accountId, password: shown.password, network });
  const method = isPasskey ? 'hwk' : 'pwd';
  if (answer === 'wrong' || answer === 'refused') {
    parts.audit.record({ accountId, by, action: 'auth.proveFailed', subject: loginId, details: { method, network } });
    return 'wrong';
  }
  if (typeof answer === 'object' && 'waitSeconds' in answer) return answer;
  const amr = isPasskey ? ['hwk', 'user'] : ['pwd'];
  const at = await freshenLogin(parts, { accountId, loginId, amr, by });
  return at === undefined ? 'ended' : { at };
}
