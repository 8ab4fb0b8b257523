import { contract } from '@svc/contract';
import { readPlace } from '../../backup/place.ts';
import { readRecord } from '../../backup/record.ts';
import { operation } from '../../kernel/feature.ts';
import { checkOperator } from '../accounts/index.ts';

/** When the next one is due, and what became of the last. */
export const backups = operation(contract.system.backups, async (context) => {
  await checkOperator(context);
  const { config } = context.kernel;
  const { everySeconds, keep, passphrase } = config.backup;
  const isOwnServer = config.databaseUrl !== undefined;
  const terms = { own_server: isOwnServer, every_s: everySeconds, keep, sealed: passphrase !== undefined };
  const chosen = await readPlace(context.db, config);
  if (!chosen || isOwnServer) return terms;
  const { place, setBy, access } = chosen;
  const { newest, begun_at, failed } = await readRecord(context.db, place);
  const next = newest && new Date(Date.parse(newest.at) + everySeconds * 1_000).toISOString();
  return {
    place,
    set_by: setBy,
    ...(access && { s3: { endpoint: access.endpoint, region: access.region, access_key_id: access.accessKeyId } }),
    ...terms,
    ...(newest && { newest }),
    ...(begun_at !== undefined && { begun_at }),
    ...(failed && { failed }),
    ...(next !== undefined && { next_at: next }),
  };
});
