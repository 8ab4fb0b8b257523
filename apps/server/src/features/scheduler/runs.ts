import { contract, type run } from '@svc/contract';
import type { z } from 'zod';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import { type Instant, readNow } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import {
  listApproved,
  listBlocked,
  listMachines,
  listOnline,
  listRuns,
  mayRun,
  type RunFilter,
} from './scheduler.runs.sql.ts';
import { waitingFor } from './scheduler.rules.ts';
import { fenceOf } from './scheduler.fence.ts';
import type { RunRow } from './scheduler.sql.ts';

type View = z.input<typeof run>;

export const runs = operation(contract.scheduler.runs, async ({ kernel, actor }, { query }) => {
  const { limit, state: states, schedule_id: scheduleId, device_id: deviceId, from, to, cursor: before } = query;
  return pageOfRuns(kernel, actor.accountId, { limit, states, scheduleId, deviceId, from, to, before });
});

/** A page of runs as they are answered. */
export async function pageOfRuns(
  kernel: Pick<Kernel, 'sql' | 'clock'>,
  accountId: string,
  filter: RunFilter,
): Promise<{ runs: View[]; next_cursor?: string }> {
  const found = await listRuns(kernel.sql, accountId, filter);
  const page = found.slice(0, filter.limit);
  const last = found.length > page.length ? page.at(-1) : undefined;
  return { runs: await viewRuns(kernel, accountId, page), ...(last && { next_cursor: last.ordinal }) };
}

/** Runs of one account as they are answered, with what the pending ones wait for. */
export async function viewRuns(
  { sql, clock }: Pick<Kernel, 'sql' | 'clock'>,
  accountId: string,
  rows: readonly RunRow[],
): Promise<View[]> {
  const pending = rows.filter(({ state }) => state === 'pending');
  if (pending.length === 0) return rows.map(viewRun);
  const waits = await waitsOf(sql, accountId, pending, await readNow(sql, clock));
  return rows.map((row) => {
    const wait = waits.get(row.id);
    if (!wait) return viewRun(row);
    const on = wait.on.slice(0, mostDevices);
    return { ...viewRun(row), waiting_for: wait.reason, ...(on.length > 0 && { waiting_on: on }) };
  });
}

const mostDevices = 10;

/** What pending runs of one account wait for at an instant, by their ids. */
export async function waitsOf(
  sql: Db,
  accountId: string,
  pending: readonly RunRow[],
  { ms: now, iso }: Instant,
): Promise<Map<string, ReturnType<typeof waitingFor>>> {
  const shells = pending.filter(({ kind, pool }) => kind === 'shell' && pool === 'host');
  const projects = pending.flatMap(({ target_type: type, target_id: id }) => (type === 'cloud_vm' && id ? [id] : []));
  const [may, online, blocked, approved, machines] = await Promise.all([
    mayRun(sql, accountId),
    listOnline(sql, accountId, iso),
    listBlocked(
      sql,
      pending.map(({ id }) => id),
      iso,
    ),
    listApproved(sql, [...new Set(shells.map((row) => row.schedule_id))]),
    listMachines(sql, accountId, projects),
  ]);
  return new Map(
    pending.map((row) => {
      const approvedBy =
        row.kind === 'shell'
          ? (approved.get(`${row.schedule_id}:${row.command_hash}`) ?? new Set<string>())
          : undefined;
      const around = { now, mayRun: may, isBlocked: blocked.has(row.id), online, machines, approvedBy };
      return [row.id, waitingFor(row, around)];
    }),
  );
}

/** A run as it is answered. A gateway that runs it is no device. */
export function viewRun(row: RunRow): View {
  const { id, schedule_id, scheduled_for, state, attempt, cost_micro_usd, created_at } = row;
  return {
    id,
    schedule_id,
    scheduled_for,
    state,
    attempt,
    cost_micro_usd,
    created_at,
    ...(row.pool === 'host' && lastHolder(row)),
    ...(row.started_at !== null && { started_at: row.started_at }),
    ...(row.finished_at !== null && { finished_at: row.finished_at }),
    ...(row.exit_code !== null && { exit_code: row.exit_code }),
    ...(row.ended_processes !== null && { ended_processes: row.ended_processes }),
    ...(row.log_tail !== null && { log_tail: row.log_tail }),
    ...(row.session_id !== null && { session_id: row.session_id }),
    ...(row.error !== null && { error: row.error }),
  };
}

function lastHolder(row: RunRow): { device_id?: string } {
  const last = row.answers.at(-1);
  const id = row.holder_id ?? (last === undefined ? undefined : fenceOf(last).holderId);
  return id === undefined ? {} : { device_id: id };
}
