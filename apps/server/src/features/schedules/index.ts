import type { Manifest } from '../../kernel/feature.ts';
import { schedulesQuota, scheduleBytesQuota, slotsQuota } from './schedules.sql.ts';
export { deletePause, isPaused, lockEndedPauses, withdrawApprovals } from './schedules.account.sql.ts';
export { hiddenSpec, openSpec, sealedScheduleHeaders } from './schedules.headers.ts';
export { keyEnded, Rights } from './schedules.rights.ts';
export { runByHand } from './run.ts';
export { defaultZone, effective, isSlot, planTick, skipDaysOf, zoneOf } from './schedules.rules.ts';
export {
  type Advance,
  advanceSchedules,
  dealDue,
  type DueFilter,
  lockDue,
  probeSchedules,
} from './schedules.due.sql.ts';
import { schedulesRestored } from './schedules.restored.ts';
export { pauseChange, scheduleChange } from './schedules.changes.ts';
export type { SchedulerOfSchedules } from './schedules.scheduler.ts';
export {
  findSchedule,
  findSealedHeaders,
  lockEventSchedules,
  lockFollowers,
  lockSchedule,
  recordOutcome,
  type ScheduleRow,
  type ScheduleTerms,
  takeMissed,
  touchLastRun,
  tryLockSchedule,
} from './schedules.sql.ts';

/** The feature without a running platform. */
export const schedulesManifest: Manifest = {
  name: 'schedules',
  data: {
    tables: ['schedules.schedules', 'schedules.pauses'],
  },
  quotas: [schedulesQuota, scheduleBytesQuota, slotsQuota],
  restored: schedulesRestored,
};
