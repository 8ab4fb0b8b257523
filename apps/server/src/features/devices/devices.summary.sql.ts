import { namedStatement } from '../../kernel/db/named.ts';

/** Devices by a part of their name. */
export const findNamed = namedStatement('devices.devices', 'name');
