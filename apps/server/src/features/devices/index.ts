export { bindTo, serveAs } from './devices.serve.ts';
export { type DeviceRow, findDevices } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';
