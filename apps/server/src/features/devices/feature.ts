import { devicesManifest } from './index.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { DeviceHooks } from './devices.forget.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { remove } from './remove.ts';

/** Devices of an account, registered by use. */
export function devicesFeature(hooks: DeviceHooks): Feature {
  return { ...devicesManifest, operations: { list, get, remove: remove(hooks) } };
}
