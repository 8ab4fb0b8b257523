import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { listDevices } from './devices.sql.ts';

export const list = operation(contract.devices.list, async (context) => ({
  devices: await listDevices(context.db, context.actor.accountId),
}));
