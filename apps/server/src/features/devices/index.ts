import type { AccountData } from '../../kernel/deletion.ts';
export { bindTo, serveAs } from './devices.serve.ts';
export { type DeviceRow, findDevices } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';

/** What it keeps of an account. */
export const devicesData: AccountData = { name: 'devices', tables: ['devices.devices'] };
