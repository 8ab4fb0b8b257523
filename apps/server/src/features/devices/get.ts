import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findDevices } from './devices.sql.ts';

export const get = operation(contract.devices.get, async ({ db, actor }, { params }) => {
  const [row] = await findDevices(db, actor.accountId, [params.id]);
  if (!row) throw notFound('device');
  return row;
});
