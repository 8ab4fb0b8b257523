import { contract } from '@svc/contract';
import { readPlace } from '../../backup/place.ts';
import { wantedTopic } from '../../backup/record.ts';
import { findOriginal } from '../../home.ts';
import { operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkOperator } from '../accounts/index.ts';

/** Asks the process that makes backups for one. */
export const backUp = operation(contract.system.backUp, async (context) => {
  await checkOperator(context);
  const { config, bus } = context.kernel;
  // A copy makes none: nobody in it works.
  const isCopy = (await findOriginal(context.db)) !== undefined;
  const place = await readPlace(context.db, config);
  const begins = place !== undefined && config.databaseUrl === undefined && !isCopy;
  await context.transaction(async (tx) => {
    await writeAct(tx, {
      accountId: context.actor.accountId,
      by: context.by,
      action: 'system.backUp',
      details: { begins },
    });
    if (begins) await bus.publish(tx, wantedTopic, null);
  });
  return { begins };
});
