import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listPasskeys as rowsOf } from '../auth/index.ts';
import { toPasskey } from './me.view.ts';

export const listPasskeys = operation(contract.me.listPasskeys, async ({ db, actor }) => ({
  passkeys: (await rowsOf(db, actor.accountId)).map(toPasskey),
}));
