import { contract } from '@svc/contract';
import { placeTopic, readPlace, writePlace } from '../../backup/place.ts';
import { writeRecord } from '../../backup/record.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkOperator } from '../accounts/index.ts';
import { checkMayChoose } from './setBackupPlace.ts';

/** Ends backups by the platform itself. What was made stays where it is. */
export const removeBackupPlace = operation(contract.system.removeBackupPlace, async (context) => {
  await checkOperator(context);
  const { kernel } = context;
  checkMayChoose(kernel);
  await context.transaction(async (tx) => {
    const before = await readPlace(tx, kernel.config);
    if (!before) return;
    await writePlace(tx, kernel, undefined);
    await writeRecord(tx, {});
    await writeAct(tx, {
      accountId: context.actor.accountId,
      by: context.by,
      action: 'system.removeBackupPlace',
      details: { before: before.place },
    });
    await kernel.bus.publish(tx, placeTopic, null);
  });
  return { deleted: true as const };
});
