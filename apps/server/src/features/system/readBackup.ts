import { Readable } from 'node:stream';
import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { Answer, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { checkOperator } from '../accounts/index.ts';
import { attachment } from '../artifacts/index.ts';
import { openOwnBackups } from './system.backups.ts';

/** A backup as a file, byte by byte as it is kept. */
export const readBackup = operation(contract.system.readBackup, async (context, { params: { name } }) => {
  await checkOperator(context);
  const own = await openOwnBackups(context.kernel);
  const kept = (await own?.list())?.find((one) => one.name === name);
  if (!own || !kept) throw notFound('backup');
  const headers = {
    'content-type': 'application/zstd',
    'content-length': String(kept.bytes),
    'content-disposition': attachment(name),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  };
  if (context.isHead) return new Answer(Readable.from([]), { headers });
  // First: what could not be opened was not read.
  const body = await own.open(name);
  if (!body) throw notFound('backup');
  try {
    await context.transaction((tx) =>
      writeAct(tx, {
        accountId: context.actor.accountId,
        by: context.by,
        action: 'system.readBackup',
        subject: name,
        details: { bytes: kept.bytes },
      }),
    );
  } catch (error) {
    body.destroy();
    throw error;
  }
  return new Answer(body, { headers });
});
