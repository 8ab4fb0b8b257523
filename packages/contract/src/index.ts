import { devices } from './devices.ts';
import { health } from './health.ts';
import { heartbeats } from './heartbeats.ts';
import { hosts } from './hosts.ts';
import { keys } from './keys.ts';
import { notifications } from './notifications.ts';

/** Every route of the API by feature and verb: the one table that server, OpenAPI and SDK derive from. */
export const contract = { health, keys, devices, hosts, notifications, heartbeats };
export type Contract = typeof contract;

export { device } from './devices.ts';
export { heartbeat } from './heartbeats.ts';
export { host } from './hosts.ts';
export { key, scope } from './keys.ts';
export { notification } from './notifications.ts';
export * from './route.ts';
