import type { AccountData } from '../../kernel/deletion.ts';
export { bindTo, isServedBy, serveAs } from './devices.serve.ts';
export { type DeviceRow, findDevices, findFreshest } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';

/** What it keeps of an account. */
export const devicesData: AccountData = { name: 'devices', tables: ['devices.devices'] };
