import type { machine } from '@svc/contract';
import type { z } from 'zod';
import { notFound } from '../../kernel/base/errors.ts';
import type { Db, Time } from '../../kernel/db/db.ts';
import { findMachine, type ListedMachine } from './machines.sql.ts';

type Machine = z.input<typeof machine>;

/** A row in the words of the API. */
export function toMachine(row: ListedMachine): Machine {
  const { id, os, hostname, roots, tags, kinds, is_host, paused, max_parallel, environment_id } = row;
  const { name, platform, online, last_seen, running, approvals_waiting } = row;
  return {
    device_id: id,
    name,
    platform,
    ...(os !== null && { os }),
    ...(hostname !== null && { hostname }),
    online,
    last_seen,
    roots: roots ?? [],
    tags: tags ?? [],
    kinds: (kinds ?? []) as Machine['kinds'],
    serves: [
      ...(is_host ? (['hosts'] as const) : []),
      ...(kinds === null ? [] : (['scheduler'] as const)),
      ...(environment_id === null ? [] : (['environment'] as const)),
    ],
    paused: paused ?? false,
    ...(max_parallel !== null && { max_parallel }),
    running,
    approvals_waiting,
    ...(environment_id !== null && { environment_id }),
  };
}

/** One machine of an account. Throws 404. */
export async function machineOf(db: Db, time: Time, accountId: string, deviceId: string): Promise<ListedMachine> {
  const row = await findMachine(db, time, accountId, deviceId);
  if (!row) throw notFound('machine');
  return row;
}
