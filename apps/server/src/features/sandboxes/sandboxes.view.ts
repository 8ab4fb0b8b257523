import type { ChangeRecord, sandbox } from '@svc/contract';
import type { z } from 'zod';
import type { Change } from '../../kernel/streams/feed.ts';
import type { SandboxRow } from './sandboxes.sql.ts';
import type { State } from './sandboxes.states.ts';

/** What it has cost is known to the feature `metering`: `shown/show.ts` adds it. */
type Shown = Omit<z.input<typeof sandbox>, 'cost_micro_eur'>;

/** The status of each state for callers: during a move they see the state where it began. */
const shown: Record<State, Shown['status']> = {
  creating: 'running',
  running: 'running',
  pausing: 'running',
  paused: 'paused',
  resuming: 'paused',
  stopped: 'stopped',
  expired: 'expired',
  destroyed: 'destroyed',
};

/** The states that show as `status`. */
export const statesShownAs = (status: Shown['status']): State[] =>
  (Object.keys(shown) as State[]).filter((state) => state !== 'creating' && shown[state] === status);

/** The sandbox's status for callers. */
export const statusOf = ({ state }: Pick<SandboxRow, 'state'>): Shown['status'] => shown[state];

export const topic = 'sandboxes';

/** A sandbox as it is now, for those who follow the account's. */
export const sandboxChange = (op: 'created' | 'updated', row: SandboxRow, now: number): Change => ({
  accountId: row.account_id,
  topic,
  op,
  id: row.id,
  record: toRecord(row, now) satisfies ChangeRecord<'sandboxes'>,
});

/** A sandbox as the API shows it, at `now` (epoch milliseconds). */
export function toRecord(row: SandboxRow, now: number, ended?: Shown['ended_after_resume']): Shown {
  const { ttl_left_ms: left } = row;
  // Its lifetime stands still, and its own instant passes meanwhile.
  const isFrozen = shown[row.state] === 'paused' && left !== null;
  return {
    id: row.id,
    object: 'sandbox',
    status: shown[row.state],
    backend: row.backend,
    ...(row.backend === 'v2' && { restored: row.restored ?? false }),
    template: row.template,
    egress: row.egress,
    created_at: row.created_at,
    expires_at: isFrozen ? new Date(now + left).toISOString() : row.expires_at,
    last_exec_at: row.last_exec_at,
    metadata: row.metadata,
    usage: { exec_count: row.exec_count, exec_seconds: row.exec_ms / 1000 },
    ...(ended && shown[row.state] === 'running' && { ended_after_resume: ended }),
    ...(row.parent_id !== null && { parent_id: row.parent_id }),
    ...(row.metadata['name'] !== undefined && { name: row.metadata['name'] }),
  };
}
