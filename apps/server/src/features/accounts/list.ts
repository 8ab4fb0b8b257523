import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { checkOperator, type SignIns, toRecords } from './accounts.people.ts';
import { listPeople } from './accounts.people.sql.ts';

export const list = (signIns: SignIns) =>
  operation(contract.accounts.list, async (context, { query }) => {
    await checkOperator(context);
    const { rows, next } = pageOf(await listPeople(context.db, query), query.limit);
    return { accounts: await toRecords(context.db, signIns, rows), ...next };
  });
