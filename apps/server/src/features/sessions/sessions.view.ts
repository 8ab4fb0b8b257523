import type { ChangeRecord, session, sessionControl, sessionEvent } from '@svc/contract';
import type { z } from 'zod';
import type { Change } from '../../kernel/streams/feed.ts';
import type { ControlRow } from './sessions.controls.sql.ts';
import type { StoredEvent } from './sessions.rules.ts';
import type { SessionRow } from './sessions.sql.ts';

export const topic = 'sessions';

/** The device that may write, and until when; undefined: any device. */
export function leaseOf({ writer_id, lease_until, is_held }: SessionRow) {
  return is_held && writer_id !== null && lease_until !== null
    ? { device_id: writer_id, expires_at: lease_until }
    : undefined;
}

/** What happened to a session, for those who follow the account's: its events are told by its own stream. */
export const sessionChange = (op: 'created' | 'updated', row: SessionRow): Change => ({
  accountId: row.account_id,
  topic,
  op,
  id: row.id,
  record: toSession(row) satisfies ChangeRecord<'sessions'>,
});

/** A session as it is answered. */
export function toSession(row: SessionRow): z.input<typeof session> {
  const { id, title, metadata, seq, created_at, updated_at } = row;
  const lease = leaseOf(row);
  return {
    id,
    ...(title !== null && { title }),
    ...(metadata !== null && { metadata }),
    seq,
    ...(lease && { lease }),
    created_at,
    updated_at,
  };
}

/** An event as it is answered. */
export function toEvent(row: StoredEvent): z.input<typeof sessionEvent> {
  const { seq, type, turn_id, event_id, role, text, data, device_id, at } = row;
  return {
    seq,
    type,
    turn_id,
    ...(event_id !== null && { id: event_id }),
    ...(role !== null && { role }),
    ...(text !== null && { text }),
    ...(data !== null && { data }),
    device_id,
    at,
  };
}

/** A control as it is answered. */
export function toControl(row: ControlRow): z.input<typeof sessionControl> {
  const { id, session_id, type, text, target_device_id, from_device_id, created_at, acked_at, withdrawn_at } = row;
  return {
    id,
    session_id,
    type,
    ...(text !== null && { text }),
    ...(target_device_id !== null && { target_device_id }),
    ...(from_device_id !== null && { from_device_id }),
    created_at,
    ...(acked_at !== null && { acked_at }),
    ...(withdrawn_at !== null && { withdrawn_at }),
  };
}
