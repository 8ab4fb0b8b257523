import type { ChangeRecord } from '@svc/contract';
import type { Change, FeedChange, View } from '../../kernel/streams/feed.ts';
import type { ScheduleRow } from './schedules.sql.ts';

type Told = ChangeRecord<'schedules'>;
const topic = 'schedules';
/** Id of the change of a pause: an account has one at most. */
const pauseId = 'pause';

type Named = Pick<ScheduleRow, 'id' | 'account_id' | 'name' | 'enabled'>;

/** What happened to a schedule. */
export const scheduleChange = (op: Change['op'], { id, account_id: accountId, name, enabled }: Named): Change => ({
  accountId,
  topic,
  op,
  id,
  ...(op !== 'deleted' && { record: { id, name, enabled } satisfies Told }),
});

/** The account's schedules were paused, or go on. */
export const pauseChange = (accountId: string, paused: boolean): Change => ({
  accountId,
  topic,
  op: 'updated',
  id: pauseId,
  record: { paused } satisfies Told,
});

/** The stream of schedules and their runs (document 2, Events): what changed, not how it is now. */
export const scheduleView: View = {
  topics: new Set([topic, 'scheduler']),
  frame: (change) => ({ event: 'schedule', json: JSON.stringify({ ...frameOf(change), cursor: change.cursor }) }),
};

function frameOf({ topic: of, op, id, record = '{}' }: FeedChange) {
  const told = JSON.parse(record) as Partial<Record<string, unknown>>;
  if (of === 'scheduler') {
    return { op: 'run', state: told['state'], schedule_id: told['schedule_id'], run_id: id, attempt: told['attempt'] };
  }
  if (id !== pauseId)
    return { op, state: op === 'deleted' ? op : told['enabled'] === true ? 'enabled' : 'disabled', schedule_id: id };
  return told['paused'] === true ? { op: 'paused', state: 'paused' } : { op: 'resumed', state: 'active' };
}
