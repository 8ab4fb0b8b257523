import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { endLogins as end, type Identity } from '../auth/index.ts';

export const endLogins = (identity: Identity) =>
  operation(contract.me.endLogins, async (context) => {
    const { actor, by, kernel } = context;
    const { accountId, credentialId } = actor;
    return context.transaction(async (tx) => {
      await identity.endSessions(tx, accountId);
      return { ended: await end(kernel, { accountId, except: credentialId, by, tx }) };
    });
  });
