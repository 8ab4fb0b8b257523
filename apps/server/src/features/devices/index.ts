import type { Manifest } from '../../kernel/feature.ts';
import { devicesQuota } from './devices.sql.ts';
export { bindTo, isServedBy, serveAs } from './devices.serve.ts';
export { type DeviceRow, findDevices, findFreshest } from './devices.sql.ts';
export { createDeviceTouch } from './devices.touch.ts';

/** The feature without a running platform. */
export const devicesManifest: Manifest = {
  name: 'devices',
  data: {
    tables: ['devices.devices'],
  },
  quotas: [devicesQuota],
};
