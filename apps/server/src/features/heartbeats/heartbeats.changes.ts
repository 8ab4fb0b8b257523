import type { ChangeRecord } from '@svc/contract';
import type { Change } from '../../kernel/streams/feed.ts';
import type { MonitorState } from './heartbeats.rules.ts';
import { type MonitorRow, stateOf } from './heartbeats.sql.ts';
import { toRecord } from './heartbeats.view.ts';

export const topic = 'heartbeats';
/** Pings that leave the status as it is are told at most once in this time. */
const tellEveryMs = 10_000;

/** A monitor as it is now, for those who follow the account's. */
export const monitorChange = (op: 'created' | 'updated', row: MonitorRow, state = stateOf(row)): Change => ({
  accountId: row.account_id,
  topic,
  op,
  id: row.id,
  record: toRecord(row, state) satisfies ChangeRecord<'heartbeats'>,
});

/** Whether a state of a monitor is told: its status is another, or the last news of it is old. */
export function isTold(row: MonitorRow, state: MonitorState, now: number): boolean {
  return state.status !== row.status || row.told_at === null || now - Date.parse(row.told_at) >= tellEveryMs;
}
