import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { invalidApiKey } from '../../kernel/mount/access.ts';
import { type Proofs, proveAgain } from '../auth/index.ts';

export const reauth = (proofs: Proofs) =>
  operation(contract.me.reauth, async ({ actor, by, address, kernel }, { body: { password, passkey } }) => {
    const { accountId, credentialId: loginId } = actor;
    const shown = passkey === undefined ? { password: password ?? '' } : { passkey };
    const answer = await proveAgain({ ...kernel, ...proofs }, { accountId, loginId, address, by, shown });
    if (answer === 'ended') throw invalidApiKey('you are signed out; sign in again');
    if (answer === 'wrong')
      throw new ApiError('reauth_failed', 'this is not your password, or not a passkey of yours; try again');
    if ('waitSeconds' in answer) {
      const { waitSeconds } = answer;
      throw new ApiError('rate_limit_exceeded', `too many wrong passwords; try again in ${waitSeconds} s`, {
        headers: { 'retry-after': String(waitSeconds) },
      });
    }
    return { auth_time: new Date(answer.at).toISOString() };
  });
