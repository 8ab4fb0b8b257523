import { contract } from '@svc/contract';
import { readRecord } from '../../backup/record.ts';
import { operation } from '../../kernel/feature.ts';
import { checkOperator } from '../accounts/index.ts';

/** When the next one is due, and what became of the last. */
export const backups = operation(contract.system.backups, async (context) => {
  await checkOperator(context);
  const { place, everySeconds, keep, passphrase } = context.kernel.config.backup;
  const isOwnServer = context.kernel.config.databaseUrl !== undefined;
  const terms = { own_server: isOwnServer, every_s: everySeconds, keep, sealed: passphrase !== undefined };
  if (place === undefined || isOwnServer) return terms;
  const record = await readRecord(context.db);
  const next = record.newest && new Date(Date.parse(record.newest.at) + everySeconds * 1_000).toISOString();
  return { place, ...terms, ...record, ...(next !== undefined && { next_at: next }) };
});
