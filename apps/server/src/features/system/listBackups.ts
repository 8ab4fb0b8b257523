import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkOperator } from '../accounts/index.ts';
import { openOwnBackups } from './system.backups.ts';

/** The backups that are kept, the newest first. */
export const listBackups = operation(contract.system.listBackups, async (context) => {
  await checkOperator(context);
  const own = await openOwnBackups(context.kernel);
  const all = (await own?.list()) ?? [];
  return { data: all.map(({ name, bytes, at }) => ({ name, bytes, at: at.toISOString() })) };
});
