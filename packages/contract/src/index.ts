import { artifacts } from './artifacts.ts';
import { devices } from './devices.ts';
import { health } from './health.ts';
import { heartbeats } from './heartbeats.ts';
import { hosts } from './hosts.ts';
import { keys } from './keys.ts';
import { notifications } from './notifications.ts';
import { previews } from './previews.ts';
import { sandboxes } from './sandboxes.ts';
import { scheduler } from './scheduler.ts';
import { schedules } from './schedules.ts';
import { workspaces } from './workspaces.ts';

/** Every route of the API by feature and verb: the one table that server, OpenAPI and SDK derive from. */
export const contract = {
  health,
  keys,
  devices,
  hosts,
  notifications,
  heartbeats,
  schedules,
  scheduler,
  sandboxes,
  workspaces,
  artifacts,
  previews,
};
export type Contract = typeof contract;

export { device } from './devices.ts';
export { heartbeat } from './heartbeats.ts';
export { host } from './hosts.ts';
export { key, scope } from './keys.ts';
export { notification } from './notifications.ts';
export * from './route.ts';
export { artifact, egress, execFrame, execResult, receipt, sandbox, sandboxStates } from './sandboxes.shapes.ts';
export { hostKinds, run, runStates, schedulerHost } from './scheduler.ts';
export {
  agentSpec,
  chainSpec,
  commandHashInput,
  httpSpec,
  kinds,
  policy,
  shellSpec,
  target,
  trigger,
} from './schedules.shapes.ts';
export { newSchedule, schedule } from './schedules.ts';
