import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { listPasskeys, renamePasskey } from '../auth/index.ts';
import { toPasskey } from './me.view.ts';

export const updatePasskey = operation(
  contract.me.updatePasskey,
  async (context, { params: { id }, body: { name } }) => {
    const { actor, by, kernel } = context;
    const { accountId } = actor;
    return context.transaction(async (tx) => {
      await renamePasskey(kernel, { accountId, id, name, by, tx });
      const row = (await listPasskeys(tx, accountId)).find((one) => one.id === id);
      if (!row) throw notFound('passkey');
      return toPasskey(row);
    });
  },
);
