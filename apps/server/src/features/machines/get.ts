import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { machineOf, toMachine } from './machines.view.ts';

export const get = operation(contract.machines.get, async ({ db, clock, actor }, { params }) =>
  toMachine(await machineOf(db, clock, actor.accountId, params.device_id)),
);
