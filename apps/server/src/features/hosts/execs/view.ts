import type { hostExec } from '@svc/contract';
import type { z } from 'zod';
import type { Actor } from '../../../kernel/base/actor.ts';
import type { ExecReader, ExecRow } from './execs.sql.ts';

/** A command as it is answered; in lists and changes without its result. */
export function viewExec(row: ExecRow, { withResult = false } = {}): z.input<typeof hostExec> {
  return {
    req_id: row.id,
    device_id: row.device_id,
    op: row.op,
    state: row.state,
    ...(row.ok !== null && { ok: row.ok }),
    ...(withResult && row.result !== null && { result: JSON.parse(row.result) as unknown }),
    ...(row.error !== null && { error: row.error }),
    ...(row.exit_code !== null && { exit_code: row.exit_code }),
    output_bytes: row.output_bytes,
    ...(row.truncated && { truncated: true }),
    created_at: row.created_at,
    ...(row.started_at !== null && { started_at: row.started_at }),
    ...(row.cancel_asked_at !== null && { cancel_asked_at: row.cancel_asked_at }),
    ...(row.finished_at !== null && { finished_at: row.finished_at }),
    expires_at: row.expires_at,
  };
}

/** Commands that a key may see, or with `toCancel` may cancel: those of the account, or with `hosts:exec` alone its own. */
export function readerOf({ accountId, keyId, scopes }: Actor, toCancel = false): ExecReader {
  const whole = ['*', 'hosts', ...(toCancel ? [] : ['hosts:read'])];
  return scopes.some((scope) => whole.includes(scope)) ? { accountId } : { accountId, keyId };
}
