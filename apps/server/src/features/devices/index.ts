import type { Feature } from '../../kernel/feature.ts';
import { list } from './list.ts';

export { type DeviceRow, findDevices } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';

/** Devices of an account, registered by use. */
export const devicesFeature: Feature = { name: 'devices', operations: { list } };
