import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { listReferences, lockReferences } from './schedules.account.sql.ts';
import {
  checkAddress,
  checkDefinition,
  checkNames,
  checkReferences,
  checkSteps,
  definitionOf,
  firstSlots,
  ratePerMinute,
  workOf,
} from './schedules.rules.ts';
import { scheduleChange } from './schedules.changes.ts';
import { keepHeaders, sealHeaders } from './schedules.headers.ts';
import type { Rights } from './schedules.rights.ts';
import type { SchedulerOfSchedules } from './schedules.scheduler.ts';
import {
  insertSchedule,
  type NewSchedule,
  type ScheduleRow,
  scheduleBytesQuota,
  schedulesQuota,
  slotsQuota,
} from './schedules.sql.ts';
import { viewSchedule } from './schedules.view.ts';

/** The features that creating and changing schedules needs. */
export interface Parts {
  scheduler: SchedulerOfSchedules;
  rights: Rights;
}

export const create = (parts: Parts): Operation =>
  operation(contract.schedules.create, async (context, { body }) => {
    const { row, now } = await createSchedule(parts, context, body);
    return viewSchedule(context.db, row, now.ms);
  });

/** An `at` trigger may lie this long in the past; it runs at once then. */
const oldestAtMs = 60_000;

/** Checks, stores and announces a schedule. */
export async function createSchedule(
  { scheduler, rights }: Parts,
  context: Context,
  body: NewSchedule,
): Promise<{ row: ScheduleRow; now: Instant }> {
  const { accountId, keyId } = context.actor;
  const definition = keepHeaders(definitionOf(body), undefined);
  checkDefinition(definition);
  rights.check(context.actor, workOf(definition));
  checkNames(definition);
  checkAddress(context.kernel.outbound, definition);
  return context.transaction(async (db) => {
    const now = await readNow(db, context.clock);
    if (definition.trigger.type === 'after' || definition.kind === 'chain') {
      await lockReferences(db, accountId);
      const others = await listReferences(db, accountId);
      checkReferences({ id: undefined, definition }, others);
      checkSteps(rights, context.actor, definition, others);
    }
    checkAt(definition.trigger, now);
    await checkQuota(context.kernel.config, db, schedulesQuota, accountId);
    await checkQuota(context.kernel.config, db, scheduleBytesQuota, accountId);
    const rate = ratePerMinute(definition, now.ms);
    if (rate > 0) await checkQuota(context.kernel.config, db, slotsQuota, accountId, rate);
    const row = await insertSchedule(db, { accountId, keyId }, sealHeaders(context.kernel.keyring, definition), {
      now: now.iso,
      slots: firstSlots(definition, now.ms),
      rate,
    });
    await context.kernel.feed.record(db, [scheduleChange('created', row)]);
    await scheduler.wake(db, accountId);
    return { row, now };
  });
}

/** Whether an `at` trigger is long past. */
export const isPast = (trigger: NewSchedule['trigger'], now: Instant): boolean =>
  trigger.type === 'at' && Date.parse(trigger.at) < now.ms - oldestAtMs;

/** Throws 400 for an `at` trigger that is long past. */
export function checkAt(trigger: NewSchedule['trigger'], now: Instant): void {
  if (!isPast(trigger, now)) return;
  const message = 'lies more than 60 s in the past';
  throw badRequest(`trigger.at: ${message}`, { 'trigger.at': [message] });
}
