import { contract } from '@svc/contract';
import { ApiError } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { type DeletionParts, markDeleted } from '../accounts/index.ts';
import { endLinks, endLogins, type Identity } from '../auth/index.ts';

export const remove = (identity: Identity, { refusal }: Pick<DeletionParts, 'refusal'>) =>
  operation(contract.me.remove, async ({ actor, by, kernel }) => {
    const { accountId } = actor;
    await markDeleted(kernel, accountId, by, async (tx) => {
      const refused = await refusal(tx, accountId);
      if (refused) throw new ApiError(refused.code, refused.why);
      await endLogins(kernel, { accountId, by, tx });
      await endLinks(kernel, { accountId, by, tx });
      await identity.endSessions(tx, accountId);
    });
    return { deleted: true as const, id: accountId };
  });
