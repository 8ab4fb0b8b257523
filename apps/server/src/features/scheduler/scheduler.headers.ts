import type { Sealed } from '../../kernel/crypto.ts';
import { type Headers, holdsHidden } from '../../kernel/hidden.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findSealedHeaders, openSpec, sealedScheduleHeaders } from '../schedules/index.ts';
import type { RunRow } from './scheduler.sql.ts';

/** Header values that a run of an http schedule carries until it is over. */
export const sealedRunHeaders: Sealed = { ...sealedScheduleHeaders, table: 'scheduler.runs' };

/**
 * What a run does, its header values opened: for whoever makes the request, at the moment of it. A run that a gateway of
 * an earlier version made has no values of its own; those of its schedule count.
 */
export async function openRunSpec(
  { sql, keyring }: Pick<Kernel, 'sql' | 'keyring'>,
  run: RunRow,
): Promise<Record<string, unknown>> {
  const headers = run.spec['headers'] as Headers | undefined;
  const lacksOwn = run.kind === 'http' && run.sealed_headers === null && headers !== undefined && holdsHidden(headers);
  const sealed = lacksOwn ? await findSealedHeaders(sql, run.schedule_id) : run.sealed_headers;
  return openSpec(keyring, { kind: run.kind, spec: run.spec, sealed_headers: sealed });
}
