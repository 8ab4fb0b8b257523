import type { Words } from '@svc/words';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { deepLink, notifyMany, resolveNotifications } from '../notifications/index.ts';
import type { MonitorState } from './heartbeats.rules.ts';
import type { MonitorRow } from './heartbeats.sql.ts';
import type { MonitorStep, Transition } from './heartbeats.steps.ts';

/** Hooks of other features for a monitor that goes down or recovers, called in the transaction of that change. */
export interface HeartbeatHooks {
  onTransition?: (
    tx: Db,
    transition: { accountId: string; monitorId: string; event: Transition['event'] },
  ) => Promise<void>;
}

/** One transition of a monitor, with the outage it belongs to. */
export interface Happened {
  monitor: Pick<MonitorRow, 'id' | 'account_id' | 'name'>;
  outage: number;
  transition: Transition;
  /** Its owner hears nothing of it for now; features that wait for it do. */
  isMuted: boolean;
  /** What the ping that brought it down said, if it said anything. */
  output?: Buffer | undefined;
  /** The end of a silence, in which an outage that goes on is told of once more. */
  again?: string;
}

/** The transitions of a monitor in a step; several outages in one step have a number each. */
export function happenedIn(monitor: MonitorRow, before: MonitorState, step: MonitorStep, output?: Buffer): Happened[] {
  let { outage } = before;
  return step.transitions.map((transition) => {
    const isDown = transition.event === 'heartbeat.down';
    if (isDown) outage += 1;
    const isOfPing = transition.reason[0] === 'failed' || transition.reason[0] === 'exit';
    return { monitor, outage, transition, isMuted: isDown && isMuted(monitor), output: isOfPing ? output : undefined };
  });
}

/** Whether a silence is under way at the instant of the row. */
const isMuted = ({ muted_until: until, now }: MonitorRow): boolean =>
  until !== null && Date.parse(until) > Date.parse(now);

/** What is told where a silence ends: of a monitor that is down since before, that it still is. */
export function afterSilence(monitor: MonitorRow, state: MonitorState, step: MonitorStep): Happened[] {
  const { muted_until: again } = monitor;
  if (again === null || isMuted(monitor) || state.status !== 'down' || step.transitions.length > 0) return [];
  const transition = { event: 'heartbeat.down', reason: ['silenced'] } as const;
  return [{ monitor, outage: state.outage, transition, isMuted: false, again }];
}

/** Monitors whose silence is over as they came up again after an outage, or, where `byTime`, as its time has come. */
export const silenceEnds = (happened: readonly Happened[], rows: readonly MonitorRow[], byTime: boolean): string[] => {
  const up = new Set(
    happened.flatMap(({ monitor: { id }, transition: { event } }) => (event === 'heartbeat.up' ? [id] : [])),
  );
  return rows.flatMap((row) =>
    row.muted_until !== null && (up.has(row.id) || (byTime && !isMuted(row))) ? [row.id] : [],
  );
};

/** Of notifications that a monitor is down. */
export const downCause = (id: string): string => `heartbeat:${id}`;

/** Tells the accounts and the hooks. The outage's number keeps an alert from being sent twice. */
export async function announce(
  kernel: Kernel,
  tx: Db,
  hooks: HeartbeatHooks,
  happened: readonly Happened[],
): Promise<void> {
  const told = happened.filter(({ isMuted: isQuiet }) => !isQuiet);
  await notifyMany(
    kernel,
    tx,
    told.map(({ monitor, outage, transition: { event, reason }, output, again }) => ({
      accountId: monitor.account_id,
      dedupeKey: keyOf(event, monitor.id, outage, again),
      ...(event === 'heartbeat.down' && { cause: downCause(monitor.id) }),
      type: event,
      says: ({ monitors: words }) => ({
        title: words[event === 'heartbeat.down' ? 'down' : 'up'](monitor.name),
        body: bodyOf(words, reason, output),
      }),
      url: deepLink(kernel.config, 'heartbeats', monitor.id),
      severity: event === 'heartbeat.down' ? 'critical' : 'info',
      data: { heartbeat_id: monitor.id },
    })),
  );
  const up = happened.filter(({ transition: { event } }) => event === 'heartbeat.up');
  await resolveNotifications(
    kernel,
    tx,
    up.map(({ monitor: { id, account_id: accountId }, outage }) => {
      const instead = keyOf('heartbeat.up', id, outage);
      return { accountId, cause: downCause(id), resolution: 'recovered', instead };
    }),
  );
  for (const { monitor, transition, again } of happened) {
    if (again !== undefined) continue;
    await hooks.onTransition?.(tx, { accountId: monitor.account_id, monitorId: monitor.id, event: transition.event });
  }
}

const keyOf = (event: Transition['event'], id: string, outage: number, again?: string): string =>
  [event, id, outage, ...(again === undefined ? [] : [again])].join(':');

const shownLines = 3;
const mostShown = 1_000;

/** Why, and below it the last lines of what the job printed. */
function bodyOf(
  words: Words['alerts']['monitors'],
  [name, first = '', second = '']: Transition['reason'],
  output?: Buffer,
) {
  const why = words.reasons[name](first, second);
  const text = (output ?? Buffer.alloc(0)).subarray(-4 * mostShown).toString('utf8');
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const said = lines
    .slice(-shownLines)
    .join('\n')
    .replace(/^\ufffd+/, '')
    .slice(-mostShown);
  return said === '' ? why : `${why}\n${said}`;
}
