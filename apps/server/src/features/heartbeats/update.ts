import { contract, type RouteParsed } from '@svc/contract';
import { badRequest, notFound } from '../../kernel/base/errors.ts';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { resolveNotifications } from '../notifications/index.ts';
import { announce, downCause, happenedIn, type HeartbeatHooks } from './heartbeats.alert.ts';
import { monitorChange } from './heartbeats.changes.ts';
import { type MonitorState, retimed } from './heartbeats.rules.ts';
import { expire, type MonitorStep, pause } from './heartbeats.steps.ts';
import { flipsThrough } from './history/flips.ts';
import { saveSteps } from './history/keep.ts';
import { claimSlug } from './heartbeats.slugs.ts';
import { lockMonitor, stateOf, updateTerms } from './heartbeats.sql.ts';
import { checkCron, defaultGraceS } from './heartbeats.times.ts';
import { toRecord } from './heartbeats.view.ts';

/** Deadlines of the old terms are handled first. A new period counts from the last success, a new expression from now. */
export const update = (hooks: HeartbeatHooks): Operation =>
  operation(contract.heartbeats.update, (context, { params, body }) =>
    context.transaction(async (tx) => {
      const { kernel, clock, actor } = context;
      const row = await lockMonitor(tx, clock, actor.accountId, params.id);
      if (!row) throw notFound('heartbeat');
      const { slug } = body;
      if (slug) await claimSlug(tx, actor.accountId, slug, row.id);
      const now = Date.parse(row.now);
      const before = stateOf(row);
      const step = stepOf(before, body, now);
      const state = withTimes(step.state, body, now);
      const { muted_until: until } = body;
      if (until) endOf('muted_until', until, now);
      const changed = await updateTerms(tx, clock, row.id, {
        ...state,
        name: body.name,
        slug: slug === undefined ? row.slug : slug,
        mutedUntil: until === undefined ? row.muted_until : until,
        tags: body.tags === undefined ? row.tags : [...new Set(body.tags ?? [])],
      });
      const { name } = changed;
      if (until !== undefined)
        await noteChange(tx, actor, { kind: 'mute', subject: row.id, name, before: row.muted_until ?? undefined });
      if (body.paused !== undefined || body.paused_until !== undefined)
        await noteChange(tx, actor, { kind: 'pause', subject: row.id, name });
      if (hasTimes(body)) await noteChange(tx, actor, { kind: 'monitor_times', subject: row.id, name });
      const flips = [...step.flips, ...flipsThrough(now, step.state, state)];
      const { ping_seq: pingSeq, flip_seq: flipSeq } = row;
      await saveSteps(tx, [{ id: row.id, state, pingSeq, flipSeq, flips, toldAt: row.now }]);
      await kernel.feed.record(tx, [monitorChange('updated', changed, state)]);
      await announce(kernel, tx, hooks, happenedIn(row, before, step));
      if (state.status === 'paused' && before.status !== 'paused') {
        const cause = downCause(row.id);
        await resolveNotifications(kernel, tx, [{ accountId: actor.accountId, cause, resolution: 'paused' }]);
      }
      return toRecord(changed, state);
    }),
  );

type Change = RouteParsed<typeof contract.heartbeats.update>['body'];

/** Whether a change says when pings are expected: one that is expected in a year is as silent as one that is muted. */
const hasTimes = ({ period_s: period, grace_s: grace, cron, tz }: Change): boolean =>
  [period, grace, cron, tz].some((given) => given !== undefined);

/** Pauses it, ends its pause, or changes the end of that; with none of it what is due by now happens. */
function stepOf(before: MonitorState, { paused, paused_until: until }: Change, now: number): MonitorStep {
  if (until) return pause(before, true, now, endOf('paused_until', until, now));
  if (paused !== undefined) return pause(before, paused, now);
  const due = expire(before, now);
  return until === null ? { ...due, state: { ...due.state, pausedUntil: null } } : due;
}

const longestPauseMs = 366 * 86_400_000;

/** The end of a pause or a silence in milliseconds. Throws 400 for one that is over or too far away. */
function endOf(field: 'paused_until' | 'muted_until', until: string, now: number): number {
  const ms = Date.parse(until);
  if (ms > now && ms <= now + longestPauseMs) return ms;
  const message = 'must lie in the future, and at most a year from now';
  throw badRequest(`${field}: ${message}`, { [field]: [message] });
}

/** The state under the times that a change gives; what it does not name stays. */
function withTimes(state: MonitorState, body: Change, now: number): MonitorState {
  const tz = body.tz === undefined ? state.tz : body.tz;
  const cron = body.cron ?? (body.period_s === undefined ? state.cron : null);
  if (cron !== null) checkCron(cron, tz);
  const times = { periodS: body.period_s ?? state.periodS, graceS: body.grace_s ?? state.graceS, cron, tz };
  const next = retimed(state, times, now);
  return body.grace_s === null ? { ...next, graceS: defaultGraceS(next.periodS) } : next;
}
