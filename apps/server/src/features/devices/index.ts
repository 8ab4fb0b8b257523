import type { Manifest } from '../../kernel/feature.ts';
import { devicesQuota } from './devices.sql.ts';
export { type DeviceHooks, forgetDevice } from './devices.forget.ts';
export { bindTo, isServedBy, onlyServes, serveAs } from './devices.serve.ts';
export { type DeviceRow, findDevices, findFreshest, findListening, moveDevice, noteListens } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';

/** The feature without a running platform. */
export const devicesManifest: Manifest = {
  name: 'devices',
  data: {
    tables: ['devices.devices'],
  },
  quotas: [devicesQuota],
};
