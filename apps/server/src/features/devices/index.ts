export { type DeviceRow, findDevices } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';
