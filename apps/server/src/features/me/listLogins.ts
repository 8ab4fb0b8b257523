import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listLogins as rowsOf } from '../auth/index.ts';
import { toLogin } from './me.view.ts';

export const listLogins = operation(contract.me.listLogins, async ({ db, clock, actor }) => ({
  logins: (await rowsOf(db, clock, actor.accountId)).map((row) => toLogin(row, actor.credentialId)),
}));
