import type { Feature } from '../../kernel/feature.ts';
import { devicesQuota } from './devices.sql.ts';
import { list } from './list.ts';

/** Devices of an account, registered by use. */
export const devicesFeature: Feature = { name: 'devices', operations: { list }, quotas: [devicesQuota] };
