import { contract } from '@svc/contract';
import { configAt, placeTopic, readPlace, tryPlace, writePlace } from '../../backup/place.ts';
import { adviceOf, writeRecord } from '../../backup/record.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkOperator } from '../accounts/index.ts';

/** Where the platform puts backups by itself: tried now, not at night. */
export const setBackupPlace = operation(contract.system.setBackupPlace, async (context, { body }) => {
  await checkOperator(context);
  const { kernel } = context;
  checkMayChoose(kernel);
  const { place, s3 } = body;
  const access = s3 && { endpoint: s3.endpoint, region: s3.region, accessKeyId: s3.access_key_id };
  const chosen = { place, ...(access && { access }) };
  try {
    await tryPlace(configAt(kernel.config, chosen, s3?.secret_access_key), kernel.dataDir);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const fix = adviceOf(error.message, place);
    const why = fix === undefined ? error.message : `${error.message}; ${fix}`;
    throw badRequest(why, { place: [why] });
  }
  await kernel.gateways.prove();
  await context.transaction(async (tx) => {
    const before = (await readPlace(tx, kernel.config))?.place;
    await writePlace(tx, kernel, { ...chosen, secretAccessKey: s3?.secret_access_key });
    // What another place has is not shown as this one's.
    if (before !== place) await writeRecord(tx, { place });
    await writeAct(tx, {
      accountId: context.actor.accountId,
      by: context.by,
      action: 'system.setBackupPlace',
      // The same name at another endpoint is another bucket.
      details: {
        place,
        ...(before !== undefined && { before }),
        ...(s3 && { endpoint: s3.endpoint, region: s3.region, access_key_id: s3.access_key_id }),
      },
    });
    await kernel.bus.publish(tx, placeTopic, null);
  });
  return { place };
});

/** Throws where settings, or a database server of the operator's, decide. */
export function checkMayChoose({ config }: Pick<Kernel, 'config'>): void {
  const say = (why: string): never => {
    throw badRequest(why, { place: [why] });
  };
  if (config.databaseUrl !== undefined) say('the database is a server of yours: back that up by its own means');
  if (config.backup.place !== undefined)
    say('SVC_BACKUP_DIR of the settings says where backups go: take it out there first, and restart');
}
