import { contract } from '@svc/contract';
import { localeOf, wordsOf } from '@svc/words';
import { badRequest } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findProfile } from '../accounts/index.ts';
import { endLogins, type Identity, type Proofs, setPassword as set } from '../auth/index.ts';

export const setPassword = (identity: Identity, { hashing }: Proofs) =>
  operation(contract.me.setPassword, async (context, { body: { password } }) => {
    const { actor, by, kernel, headers } = context;
    const { accountId, credentialId } = actor;
    const { problem, cookies = [] } = await context.transaction(async (tx) => {
      const found = await set({ ...kernel, hashing }, { accountId, password, by, tx });
      if (found !== undefined) return { problem: found };
      // Whoever knew the former one may be signed in elsewhere.
      await endLogins(kernel, { accountId, except: credentialId, by, tx });
      await identity.endSessions(tx, accountId);
      await identity.tell(tx, accountId, { type: 'password.changed' });
      return { cookies: await identity.renewLogin(tx, credentialId, headers.cookie) };
    });
    context.setCookies(cookies);
    if (problem !== undefined) {
      const locale = (await findProfile(kernel.sql, accountId))?.locale ?? localeOf(headers['accept-language']);
      const { problems } = wordsOf(locale);
      const said = problems[problem === 'address' ? 'isEmail' : problem];
      throw badRequest(`password: ${said}`, { password: [said] });
    }
    return { changed: true as const };
  });
