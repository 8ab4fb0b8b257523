import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { storeRules } from './preferences/preferences.sql.ts';

export const setPreferences = operation(
  contract.notifications.setPreferences,
  async ({ db, clock, actor }, { body: { rules } }) => {
    await storeRules(db, clock, actor.accountId, rules);
    return { rules };
  },
);
