import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { findRules } from './preferences/preferences.sql.ts';

export const getPreferences = operation(contract.notifications.getPreferences, async ({ db, actor }) => {
  const [row] = await findRules(db, [actor.accountId]);
  return { rules: row?.rules ?? [] };
});
