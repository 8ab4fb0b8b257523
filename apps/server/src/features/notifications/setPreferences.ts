import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { findRules, storeRules } from './preferences/preferences.sql.ts';

export const setPreferences = operation(contract.notifications.setPreferences, (context, { body: { rules } }) =>
  context.transaction(async (tx) => {
    const { actor, by, clock } = context;
    const { accountId } = actor;
    const [known] = await findRules(tx, [accountId]);
    const before = JSON.stringify(known?.rules ?? []);
    await noteChange(tx, actor, { kind: 'preferences', subject: accountId, name: '', before });
    await storeRules(tx, clock, accountId, rules);
    await writeAct(tx, { accountId, by, action: 'notifications.setPreferences', details: { rules } });
    return { rules };
  }),
);
