import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { endLogins as end, type Identity } from '../auth/index.ts';

export const endLogins = (identity: Identity) =>
  operation(contract.me.endLogins, async (context) => {
    const { actor, by, headers, kernel } = context;
    const { accountId, credentialId } = actor;
    const { ended, cookies } = await context.transaction(async (tx) => {
      const cookies = await identity.endOtherSessions(tx, accountId, headers.cookie);
      cookies.push(...(await identity.renewLogin(tx, credentialId, headers.cookie)));
      return { ended: await end(kernel, { accountId, except: credentialId, by, tx }), cookies };
    });
    context.setCookies(cookies);
    return { ended };
  });
