import { contract } from '@svc/contract';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { operation } from '../../kernel/feature.ts';
import { type Identity, registerPasskey } from '../auth/index.ts';
import { toPasskey } from './me.view.ts';

export const addPasskey = (identity: Identity) =>
  operation(contract.me.addPasskey, async (context, { body: { passkey, name } }) => {
    const { actor, by, kernel } = context;
    const { accountId } = actor;
    // The library refuses what is no such answer.
    const response = passkey as unknown as RegistrationResponseJSON;
    return context.transaction(async (tx) => {
      const row = await registerPasskey(kernel, { accountId, response, name, by, tx });
      await identity.tell(tx, accountId, { type: 'passkey.added', name: row.name });
      return toPasskey(row);
    });
  });
