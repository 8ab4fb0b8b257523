import type { action } from '@svc/contract';
import type { z } from 'zod';
import type { NotificationRow } from './notifications.sql.ts';

type Action = z.output<typeof action>;
/** What its acts follow from. */
type Subject = Pick<NotificationRow, 'id' | 'type' | 'data' | 'read_at' | 'archived_at' | 'resolved_at'>;

/** Acts on what a notification tells of, by its type: those that a person most likely wants, the most likely first. */
const ofTypes: Readonly<Record<string, (ids: Readonly<Record<string, string>>) => Action[]>> = {
  'schedule.approval': ({ run_id: run }) => [decide(run, 'approve'), decide(run, 'skip')],
  'schedule.failed': ({ run_id: run }) => [post('rerun', `/v1/schedule-runs/${run}/rerun`)],
  'schedule.late': ({ run_id: run }) => [post('cancel', `/v1/schedule-runs/${run}/cancel`)],
  'schedule.host_approval': ({ run_id: run }) => [post('cancel', `/v1/schedule-runs/${run}/cancel`)],
  'schedule.disabled': ({ schedule_id: id }) => [patch('resume', `/v1/schedules/${id}`, { enabled: true })],
  'heartbeat.down': ({ heartbeat_id: id }) => [patch('pause', `/v1/heartbeats/${id}`, { paused: true })],
};

const post = (id: Action['id'], path: string): Action => ({ id, method: 'POST', path });
const patch = (id: Action['id'], path: string, body: Action['body']): Action => ({ id, method: 'PATCH', path, body });
const decide = (run: string | undefined, decision: 'approve' | 'skip'): Action => ({
  ...post(decision, `/v1/schedule-runs/${run}/decision`),
  body: { decision },
});

/**
 * The buttons of a notification: acts on what it tells of until it is archived or resolved, the page that it leads to, and what
 * can still become of it in the inbox. `page` is a path below `{hub_url}`.
 */
export function actionsOf(
  { id, type, data, read_at, archived_at, resolved_at }: Subject,
  page: string | undefined,
): Action[] {
  const own = `/v1/notifications/${id}`;
  const isOpen = archived_at === null && resolved_at === null;
  return [
    ...(isOpen ? (ofTypes[type]?.((data ?? {}) as Record<string, string>) ?? []) : []),
    ...(page === undefined ? [] : [{ id: 'open', method: 'GET', path: page } as const]),
    ...(read_at === null ? [patch('read', own, { read: true })] : []),
    ...(archived_at === null ? [patch('archive', own, { archived: true })] : []),
  ];
}

/** Alerts of one cause replace each other on a screen: what recovers takes the place of its alarm. */
export function tagOf({ id, type, data }: Pick<Subject, 'id' | 'type' | 'data'>): string {
  const of = (name: string): string => `${name.replace(/_id$/, '')}:${String(data?.[name])}`;
  const name = Object.entries(causes).find(([types]) => type === types || type.startsWith(`${types}.`))?.[1];
  return name === undefined || data?.[name] === undefined ? `notification:${id}` : of(name);
}

/** The field of `data` with the cause of a type, or of types that begin so; the first that fits counts. */
const causes: Readonly<Record<string, string>> = {
  heartbeat: 'heartbeat_id',
  // Each of two runs that wait has to be decided.
  'schedule.approval': 'run_id',
  schedule: 'schedule_id',
  prompt: 'prompt_id',
  transcript: 'transcript_id',
  'environment.failed': 'environment_id',
  'environment.stopped_idle': 'environment_id',
};
