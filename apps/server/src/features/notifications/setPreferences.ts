import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { storeRules } from './preferences/preferences.sql.ts';

export const setPreferences = operation(contract.notifications.setPreferences, (context, { body: { rules } }) =>
  context.transaction(async (tx) => {
    const { actor, by, clock } = context;
    const { accountId } = actor;
    await storeRules(tx, clock, accountId, rules);
    await writeAct(tx, { accountId, by, action: 'notifications.setPreferences', details: { rules } });
    return { rules };
  }),
);
