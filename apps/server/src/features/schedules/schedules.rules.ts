import { createHash } from 'node:crypto';
import {
  commandHashInput,
  headersOfConnection,
  newSchedule,
  repeatedNames,
  type shellSpec,
  withoutNulls,
  wordsFor,
} from '@svc/contract';
import { ignoreFault } from '@svc/matching/ignored';
import { cronError, isZone, missedSlots, type SkipDays, slotsAfter, type TimedTrigger } from '@svc/timetable';
import type { z } from 'zod';
import type { Actor } from '../../kernel/base/actor.ts';
import type { Outbound } from '../../kernel/outside/outbound.ts';
import { addFieldErrors, badRequest } from '../../kernel/base/errors.ts';
import type { Rights, LaterWork } from './schedules.rights.ts';
import type { DueRow } from './schedules.due.sql.ts';
import type { Definition, NewSchedule, Policy, ScheduleRow, Trigger } from './schedules.sql.ts';

/** Zone of cron expressions and skipped days that name none. */
export const defaultZone = 'Europe/Bucharest';
const timeouts = { shell: 3_600, agent: 7_200, http: 60, phone_action: 120, chain: 86_400 } as const;

/** The definition with the defaults for unset fields (design: schedules, Defaults). */
export function effective(definition: Definition) {
  const inCloud = definition.kind === 'http' || definition.kind === 'chain';
  return {
    target: definition.target ?? { type: inCloud ? ('cloud' as const) : ('any' as const) },
    misfire: definition.misfire ?? 'once',
    misfire_window_min: definition.misfire_window_min ?? 60,
    overlap: definition.overlap ?? 'skip',
    timeout_s: definition.timeout_s ?? timeouts[definition.kind],
    retries: definition.retries ?? 0,
    retry_backoff_s: definition.retry_backoff_s ?? 60,
    late_after_s: definition.late_after_s ?? 300,
    notify: definition.notify ?? 'on_failure',
  };
}

/** Whether a run of the schedule may come to the device: for a host that sees no others. `projects`: in which it serves. */
export function mayRun(
  definition: Definition,
  { deviceId, projects }: { deviceId: string | undefined; projects: ReadonlySet<string> },
): boolean {
  const { target } = effective(definition);
  if (target.type === 'cloud_vm') return projects.has(target.project_id);
  if (target.type === 'any' || target.type === 'tags') return true;
  return target.type === 'host' && (target.device_id === deviceId || (definition.failover?.length ?? 0) > 0);
}

/** The definition that a validated body gives, its header values in clear. */
export function definitionOf(body: NewSchedule): Definition {
  const { name, kind, trigger } = body;
  return {
    name,
    kind,
    trigger,
    spec: body.spec,
    description: body.description ?? null,
    enabled: body.enabled ?? true,
    target: body.target ?? null,
    failover: body.failover ?? null,
    native: body.native ?? null,
    policy: body.policy ?? null,
    misfire: body.misfire ?? null,
    misfire_window_min: body.misfire_window_min ?? null,
    overlap: body.overlap ?? null,
    timeout_s: body.timeout_s ?? null,
    retries: body.retries ?? null,
    retry_backoff_s: body.retry_backoff_s ?? null,
    late_after_s: body.late_after_s ?? null,
    alert_on_fail: body.alert_on_fail ?? null,
    notify: body.notify ?? null,
    ignore: body.ignore ?? null,
    template: body.template ?? null,
    command_hash: kind === 'shell' ? commandHash(body.spec) : null,
    sealed_headers: null,
  };
}

/**
 * Validates a record that was put together from a stored one and changes, in which `null` stands for what is unset; throws
 * 400 with the faults of each field.
 */
export function parseMerged(merged: Record<string, unknown>): NewSchedule {
  const parsed = newSchedule.safeParse(withoutNulls(newSchedule, merged), { error: wordsFor });
  if (parsed.success) return parsed.data;
  const fieldErrors: Record<string, string[]> = {};
  addFieldErrors(fieldErrors, parsed.error.issues);
  const [field, messages] = Object.entries(fieldErrors)[0] ?? ['body', ['is invalid']];
  throw badRequest(`${field}: ${messages?.[0] ?? 'is invalid'}`, fieldErrors);
}

/** SHA-256 of what a device approves, in hexadecimal. */
function commandHash(spec: z.output<typeof shellSpec>): string {
  return createHash('sha256').update(commandHashInput(spec)).digest('hex');
}

/** The kind of the work and where it runs, for its rights. */
export const workOf = (definition: Pick<Definition, 'kind' | 'target'>): LaterWork => ({
  kind: definition.kind,
  inCloud: definition.target?.type === 'cloud',
});

/** Throws as `Rights.check` does for a chain with a step that its maker may not run: steps act for the chain's key. */
export function checkSteps(
  rights: Rights,
  actor: Actor,
  { kind, spec }: Definition,
  others: readonly (Pick<Definition, 'kind' | 'target'> & { id: string })[],
): void {
  if (kind !== 'chain') return;
  const steps = new Set(stepsOf(spec));
  for (const other of others) if (steps.has(other.id)) rights.check(actor, workOf(other));
}

/** Throws 400 for what the shapes alone cannot say: expressions, zones, and which kinds go where. */
export function checkDefinition(definition: Definition): void {
  const faults: Record<string, string[]> = {};
  const fault = (field: string, message: string): void => void (faults[field] ??= []).push(message);
  const { kind, policy, trigger } = definition;
  const wrong = triggerFault(trigger);
  if (wrong) fault(`trigger.${wrong.field}`, wrong.message);
  const { target } = effective(definition);
  if (kind === 'phone_action' && target.type !== 'host') fault('target', 'a phone action needs a single host');
  if (kind === 'chain' && target.type !== 'cloud') fault('target', 'a chain runs in the cloud');
  if (target.type === 'cloud_vm' && kind !== 'shell' && kind !== 'http') {
    fault('target', 'cloud_vm takes shell and http only');
  }
  if (definition.native === true && target.type !== 'host') fault('native', 'needs a target of type host');
  const zone = policy?.quiet_hours?.tz;
  if (zone !== undefined && !isZone(zone)) fault('policy.quiet_hours.tz', `${JSON.stringify(zone)} is no time zone`);
  for (const [at, date] of (policy?.skip_days?.dates ?? []).entries()) {
    if (!isDate(date)) fault(`policy.skip_days.dates.${at}`, `${date} is no date`);
  }
  for (const [at, pattern] of (definition.ignore ?? []).entries()) {
    const unread = ignoreFault(pattern);
    if (unread !== undefined) fault(`ignore.${at}`, unread);
  }
  const [first] = Object.entries(faults);
  if (first) throw badRequest(`${first[0]}: ${first[1][0] ?? ''}`, faults);
}

/** The error of a trigger of the right shape, and its field; undefined: valid. */
export function triggerFault(trigger: Trigger): { field: 'tz' | 'expr'; message: string } | undefined {
  if (trigger.type !== 'cron') return undefined;
  if (trigger.tz !== undefined && !isZone(trigger.tz)) {
    return { field: 'tz', message: `${JSON.stringify(trigger.tz)} is no time zone` };
  }
  const message = cronError(trigger.expr);
  return message === undefined ? undefined : { field: 'expr', message };
}

/**
 * Throws 400 for variables of a command in the cloud, whose values are on a host and never leave it, and for headers that
 * are never sent as they are given.
 */
export function checkNames({ kind, spec, target }: Definition): void {
  if (kind === 'http') checkHeaderNames((spec['headers'] ?? {}) as Record<string, string>);
  const names = spec['env_names'] as string[] | undefined;
  if (kind !== 'shell' || target?.type !== 'cloud' || names === undefined || names.length === 0) return;
  const message = 'a command in the cloud has no variables of a host; leave them out, or choose a host as the target';
  throw badRequest(`spec.env_names: ${message}`, { 'spec.env_names': [message] });
}

/** Throws 400 for a webhook of the cloud to an address that is never reached from there, as far as its text tells. */
export function checkAddress(outbound: Pick<Outbound, 'checkText'>, definition: Definition): void {
  if (definition.kind !== 'http' || effective(definition).target.type !== 'cloud') return;
  try {
    outbound.checkText(definition.spec['url'] as string, { protocols: ['https:'] });
  } catch {
    const message =
      'must be an https: URL on the public internet, on a port that is open here; a host reaches its own network';
    throw badRequest(`spec.url: ${message}`, { 'spec.url': [message] });
  }
}

function checkHeaderNames(headers: Record<string, string>): void {
  const own = Object.keys(headers).find((name) => headersOfConnection.test(name));
  const [repeated] = repeatedNames(headers);
  if (own === undefined && repeated === undefined) return;
  const message =
    own === undefined
      ? `${repeated} is there twice: upper and lower case are the same`
      : `${own} is set by whoever makes the request; leave it out`;
  throw badRequest(`spec.headers: ${message}`, { 'spec.headers': [message] });
}

function isDate(text: string): boolean {
  const [year, month, day] = text.length === 5 ? [2024, ...text.split('-').map(Number)] : text.split('-').map(Number);
  const date = new Date(Date.UTC(year as number, (month as number) - 1, day));
  return date.getUTCDate() === day;
}

/** The trigger when its slots are known beforehand. */
export function timed(trigger: Trigger): TimedTrigger | undefined {
  return trigger.type === 'event' || trigger.type === 'after' ? undefined : trigger;
}

/** Zone in which skipped days and budgets' days are taken. */
export function zoneOf(trigger: Trigger): string {
  return (trigger.type === 'cron' ? trigger.tz : undefined) ?? defaultZone;
}

const weekdayNumbers = { mon: 1, tue: 2, wed: 3, thu: 4, fri: 5, sat: 6, sun: 7 } as const;

/** Skipped days as the timetable takes them. */
export function skipDaysOf(policy: Policy | null): SkipDays | undefined {
  const skip = policy?.skip_days;
  if (!skip) return undefined;
  const weekdays = skip.weekdays?.map((day) => (typeof day === 'number' ? day : weekdayNumbers[day]));
  return { holidays: skip.holidays, weekdays, dates: skip.dates };
}

/** Slots kept with a schedule; when fewer than this are left (and up to 20 more, by id), they are made again. */
const keptSlots = 30;
const fewestSlots = 6;
/** A slot this late is a misfire (design: schedules, Defaults). */
const misfireMs = 60_000;
const mostMissed = 100;

/** The next slots after an instant, and up to another if one is given: what is stored with the schedule. */
export function nextSlots(
  schedule: Pick<Definition, 'trigger' | 'policy' | 'enabled'>,
  times: { after: number; until?: number; anchor: number },
  limit = keptSlots,
): string[] {
  const trigger = timed(schedule.trigger);
  if (!trigger || !schedule.enabled) return [];
  const skipDays = skipDaysOf(schedule.policy);
  const slots = slotsAfter(trigger, { ...times, limit, tz: zoneOf(schedule.trigger), ...(skipDays && { skipDays }) });
  return slots.map((slot) => new Date(slot).toISOString());
}

/** The slots of a schedule that begins now; an `at` of the last minute is due at once. */
export function firstSlots(schedule: Pick<Definition, 'trigger' | 'policy' | 'enabled'>, now: number): string[] {
  const at = schedule.trigger.type === 'at' ? Date.parse(schedule.trigger.at) - 1 : now;
  return nextSlots(schedule, { after: Math.min(at, now), anchor: now });
}

/** Slots that a rate is taken from: enough for a minute of a timetable of seconds. */
const slotsOfRate = 61;

/** How many runs a minute its timetable asks for, by its next slots; 0 when it has fewer than two. */
export function ratePerMinute(schedule: Pick<Definition, 'trigger' | 'policy' | 'enabled'>, now: number): number {
  const slots = nextSlots(schedule, { after: now, anchor: now }, slotsOfRate);
  const [first, last] = [slots[0], slots.at(-1)];
  if (first === undefined || last === undefined || first === last) return 0;
  const times = slots.map((slot) => Date.parse(slot));
  // A burst counts by its minute, not by its day.
  const densest = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 60_000).length));
  return Math.max(((slots.length - 1) * 60_000) / (Date.parse(last) - Date.parse(first)), densest - 1);
}

/** Whether the schedule has a slot at an instant. */
export function isSlot({ trigger, policy, anchor_at }: ScheduleRow, instant: number): boolean {
  const times = { after: instant - 1, anchor: Date.parse(anchor_at) };
  const [slot] = nextSlots({ trigger, policy, enabled: true }, times, 1);
  return slot !== undefined && Date.parse(slot) === instant;
}

/** The result of a tick for one due schedule. */
interface Plan {
  /** Slots that become runs; a misfired one is a catch-up, and one row stands for those that were passed over. */
  due: { at: string; origin: 'slot' | 'catch_up'; passedOver?: number }[];
  /** Slots from now on, when those that are stored do not last. */
  slots: string[] | undefined;
  /** Last slot that fell into the pause. */
  missed: string | undefined;
}

/** Decides which slots up to `now` become runs, by misfire rule and pause, and which come next. */
export function planTick(row: DueRow, now: number): Plan {
  const past = pastSlots(row, now);
  const inPause = (slot: number): boolean =>
    row.paused_at !== null &&
    // An `at` of the last minute, made in the pause, counts from when it was made.
    Math.max(slot, Date.parse(row.anchor_at)) >= Date.parse(row.paused_at) &&
    (row.paused_until === null || slot < Date.parse(row.paused_until));
  const awake = past.filter((slot) => !inPause(slot));
  const fresh = awake.filter((slot) => now - slot <= misfireMs);
  const late = awake.filter((slot) => now - slot > misfireMs);
  const missed = past.filter(inPause).at(-1);
  const iso = (slot: number): string => new Date(slot).toISOString();
  const due = [
    ...misfired(row, late, fresh.length > 0, now).map((slot) => ({ at: iso(slot), origin: 'catch_up' as const })),
    ...caughtUp(row, fresh).map(({ slot, ...more }) => ({ at: iso(slot), origin: 'slot' as const, ...more })),
  ];
  return { due, slots: refill(row, now), missed: missed === undefined ? undefined : iso(missed) };
}

/** `once`: the latest misfired slot, unless a slot on time stands for it already. */
function misfired(row: DueRow, late: number[], hasFresh: boolean, now: number): number[] {
  const { misfire, misfire_window_min: window } = effective(row);
  if (misfire === 'skip') return [];
  if (misfire === 'once') return hasFresh ? [] : late.slice(-1);
  return late.filter((slot) => slot >= now - window * 60_000).slice(-mostMissed);
}

/** Slots that have come; also those past the ones that were stored. */
function pastSlots(row: DueRow, now: number): number[] {
  const past = row.past.map((slot) => Date.parse(slot));
  const last = past.at(-1);
  const trigger = timed(row.trigger);
  if (!trigger || last === undefined || row.left > 0) return past;
  const skipDays = skipDaysOf(row.policy);
  const options = { anchor: Date.parse(row.anchor_at), tz: zoneOf(row.trigger), ...(skipDays && { skipDays }) };
  return [...past, ...missedSlots(trigger, { ...options, from: last, to: now, limit: mostMissed })].slice(-mostMissed);
}

/**
 * When more slots of a schedule than these are due at once, the latest stands for the others, unless its misfire rule asks
 * for all: a ticker that is behind must not fall further.
 */
const mostAtOnce = 2;

function caughtUp(row: DueRow, fresh: readonly number[]): { slot: number; passedOver?: number }[] {
  const [latest, before] = [fresh.at(-1), fresh.at(-2)];
  const takesAll = fresh.length <= mostAtOnce || effective(row).misfire === 'all_within';
  if (takesAll || latest === undefined || before === undefined) return fresh.map((slot) => ({ slot }));
  return [{ slot: before, passedOver: fresh.length - 1 }, { slot: latest }];
}

function refill(row: DueRow, now: number): string[] | undefined {
  // Schedules made together would be refilled together: the id spreads them.
  if (row.left >= fewestSlots + (Number.parseInt(row.id.slice(0, 4), 16) % 20)) return undefined;
  return nextSlots(row, { after: now, anchor: Date.parse(row.anchor_at) });
}

/** The next five slots of an answer. */
export function upcomingOf(row: ScheduleRow, now: number): string[] {
  return row.enabled ? row.slots.filter((slot) => Date.parse(slot) > now).slice(0, 5) : [];
}

/**
 * Throws 400 when the schedule's references name unknown schedules or close a cycle. `others` are the account's
 * schedules; edges lead from a schedule to what it starts.
 */
export function checkReferences(
  own: { id: string | undefined; definition: Definition },
  others: readonly { id: string; after: string | null; spec: Record<string, unknown> | null }[],
): void {
  const id = own.id ?? 'new';
  const { trigger, kind, spec } = own.definition;
  const known = new Set([...others.map((other) => other.id), id]);
  const after = trigger.type === 'after' ? trigger.schedule_id : undefined;
  const steps = kind === 'chain' ? stepsOf(spec) : [];
  const unknownStep = steps.findIndex((step) => !known.has(step));
  const missing = (step: string | undefined): string => `there is no schedule ${step}`;
  if (after !== undefined && !known.has(after)) throw refused('trigger.schedule_id', missing(after));
  if (unknownStep >= 0) throw refused(`spec.steps.${unknownStep}.schedule_id`, missing(steps[unknownStep]));
  const edges = new Map<string, string[]>();
  const lead = (from: string, to: string): void => void edges.set(from, [...(edges.get(from) ?? []), to]);
  for (const other of others) {
    if (other.id === id) continue;
    if (other.after !== null) lead(other.after, other.id);
    if (other.spec !== null) for (const step of stepsOf(other.spec)) lead(other.id, step);
  }
  if (after !== undefined) lead(after, id);
  for (const step of steps) lead(id, step);
  if (reaches(edges, id))
    throw refused(after === undefined ? 'spec.steps' : 'trigger.schedule_id', 'the schedules would run in a circle');
}

const refused = (field: string, message: string) => badRequest(`${field}: ${message}`, { [field]: [message] });

/** Schedules that a chain runs, in order. */
function stepsOf(spec: Record<string, unknown>): string[] {
  return (spec['steps'] as { schedule_id: string }[]).map((step) => step.schedule_id);
}

function reaches(edges: ReadonlyMap<string, readonly string[]>, start: string): boolean {
  const seen = new Set<string>();
  const open = [...(edges.get(start) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === start) return true;
    if (!seen.has(next)) open.push(...(edges.get(next) ?? []));
    seen.add(next);
  }
  return false;
}
