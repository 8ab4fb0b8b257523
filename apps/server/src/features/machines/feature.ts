import type { Feature } from '../../kernel/feature.ts';
import type { DeviceHooks } from '../devices/index.ts';
import type { Scheduler } from '../scheduler/index.ts';
import { approvals } from './approvals.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { machinesOverview } from './machines.summary.ts';
import { remove } from './remove.ts';
import { update } from './update.ts';

/** Machines of an account in one list, whatever they serve as. */
export const machinesFeature = (scheduler: Scheduler, hooks: DeviceHooks): Feature => ({
  name: 'machines',
  overview: machinesOverview,
  operations: { list, get, update: update(scheduler), remove: remove(hooks), approvals },
});
