import { contract } from '@svc/contract';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { checkAt, type Parts } from './create.ts';
import { deleteApprovals, listReferences, lockReferences } from './schedules.account.sql.ts';
import { scheduleChange } from './schedules.changes.ts';
import { checkPlace, keepHeaders, openForChange, sealHeaders } from './schedules.headers.ts';
import {
  checkAddress,
  checkDefinition,
  checkNames,
  checkReferences,
  checkSteps,
  definitionOf,
  firstSlots,
  nextSlots,
  parseMerged,
  ratePerMinute,
  workOf,
} from './schedules.rules.ts';
import {
  type Definition,
  findSchedule,
  lockSchedule,
  scheduleBytesQuota,
  slotsQuota,
  type ScheduleRow,
  updateSchedule,
} from './schedules.sql.ts';
import { viewSchedule } from './schedules.view.ts';

/** Changes a schedule: the given fields replace the stored ones, and the merged record is validated as a new one is. */
export const update = ({ scheduler, rights }: Parts): Operation =>
  operation(contract.schedules.update, async (context, { params, body }) => {
    const { accountId } = context.actor;
    const { keyring } = context.kernel;
    const changes = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    if (Object.keys(changes).length === 0) throw badRequest('send at least one field of the schedule');
    const { row, now } = await context.transaction(async (db) => {
      if (!(await findSchedule(db, accountId, params.id))) throw notFound('schedule');
      const leads = 'trigger' in changes || 'spec' in changes || 'kind' in changes;
      if (leads) await lockReferences(db, accountId);
      const stored = await lockSchedule(db, params.id);
      if (stored?.account_id !== accountId) throw notFound('schedule');
      const known = { ...stored, spec: openForChange(keyring, stored, changes) };
      const definition = keepHeaders(definitionOf(parseMerged({ ...known, ...changes })), known);
      checkDefinition(definition);
      checkPlace(definition, stored, changes);
      const answers = answersForIt(changes);
      if (answers) rights.check(context.actor, workOf(definition));
      // One of an earlier version may have some: it can still be renamed, or switched off.
      if ('spec' in changes || 'target' in changes || 'kind' in changes) {
        checkNames(definition);
        checkAddress(context.kernel.outbound, definition);
      }
      if (sizeOf(definition) > sizeOf(known))
        await checkQuota(context.kernel.config, db, scheduleBytesQuota, accountId);
      if (leads || (answers && definition.kind === 'chain')) {
        const others = await listReferences(db, accountId);
        checkReferences({ id: stored.id, definition }, others);
        checkSteps(rights, context.actor, definition, others);
      }
      const at = await readNow(db, context.clock);
      if (JSON.stringify(definition.trigger) !== JSON.stringify(stored.trigger)) checkAt(definition.trigger, at);
      if (definition.command_hash !== stored.command_hash) await deleteApprovals(db, stored.id);
      const keyId = answers ? context.actor.keyId : stored.key_id;
      const rate = ratePerMinute(definition, at.ms);
      const more = rate - (stored.enabled ? stored.slots_per_minute : 0);
      if (more > 0) await checkQuota(context.kernel.config, db, slotsQuota, accountId, more);
      const times = { ...timesOf(stored, definition, changes, at), rate, keyId };
      const updated = await updateSchedule(db, stored.id, sealHeaders(keyring, definition), times);
      const isOtherWork =
        JSON.stringify([known.kind, known.spec]) !== JSON.stringify([definition.kind, definition.spec]);
      await scheduler.rewriteWaiting(db, updated, isOtherWork, at);
      if (stored.enabled && !updated.enabled) await scheduler.cancelWaiting(db, updated.id, at);
      if (!stored.enabled && updated.enabled) await scheduler.noteSwitchedOn(db, updated);
      await context.kernel.feed.record(db, [scheduleChange('updated', updated)]);
      await scheduler.wake(db, accountId);
      return { row: updated, now: at };
    });
    return viewSchedule(context.db, row, now.ms);
  });

/** Changes that neither let anything run nor change what does, or who hears of it. */
const harmless = new Set(['name', 'description']);

/**
 * Whether the caller answers for what runs from now on: it changes the work, when it is due or what holds it back, or
 * switches it on. Its key needs the rights for it then, and the runs end with that key.
 */
const answersForIt = (changes: Record<string, unknown>): boolean =>
  Object.entries(changes).some(([field, value]) => !harmless.has(field) && !(field === 'enabled' && value === false));

const sizeOf = ({ spec }: Pick<ScheduleRow, 'spec'>): number => JSON.stringify(spec).length;

/** A new trigger counts from now; a schedule that is switched on again starts without its failures. */
function timesOf(stored: ScheduleRow, definition: Definition, changes: Record<string, unknown>, now: Instant) {
  const isNew = 'trigger' in changes && JSON.stringify(stored.trigger) !== JSON.stringify(definition.trigger);
  const anchor = isNew ? now.ms : Date.parse(stored.anchor_at);
  const isKept =
    !isNew &&
    stored.enabled === definition.enabled &&
    JSON.stringify(stored.policy) === JSON.stringify(definition.policy);
  // Slots that are due and not taken yet stay due.
  const due = stored.enabled && definition.enabled ? stored.slots.filter((slot) => Date.parse(slot) <= now.ms) : [];
  const next = nextSlots(definition, { after: now.ms, anchor });
  return {
    now: now.iso,
    anchor: new Date(anchor).toISOString(),
    slots: isNew ? firstSlots(definition, now.ms) : isKept ? stored.slots : [...due, ...next],
    failures: definition.enabled && !stored.enabled ? 0 : stored.failures,
  };
}
