import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Scheduler } from '../scheduler/index.ts';
import { machineOf, toMachine } from './machines.view.ts';

/** Changes what a person says of a machine; the scheduler keeps it. */
export const update = (scheduler: Scheduler): Operation =>
  operation(contract.machines.update, async ({ db, clock, actor }, { params, body }) => {
    const { accountId } = actor;
    const deviceId = params.device_id;
    await machineOf(db, clock, accountId, deviceId);
    const isChanged = await scheduler.changeMachine(db, accountId, { deviceId }, body);
    if (!isChanged) throw badRequest('this machine has never asked for runs: there is nothing to rename, tag or pause');
    return toMachine(await machineOf(db, clock, accountId, deviceId));
  });
