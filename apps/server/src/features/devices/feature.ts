import type { Feature } from '../../kernel/feature.ts';
import { devicesQuota } from './devices.sql.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { type DeviceHooks, remove } from './remove.ts';

/** Devices of an account, registered by use. */
export function devicesFeature(hooks: DeviceHooks): Feature {
  return { name: 'devices', operations: { list, get, remove: remove(hooks) }, quotas: [devicesQuota] };
}
