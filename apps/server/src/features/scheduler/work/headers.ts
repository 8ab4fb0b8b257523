import type { Sealed } from '../../../kernel/base/crypto.ts';
import { type Headers, holdsHidden } from '../../../kernel/base/hidden.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findSealedHeaders, openSpec, sealedScheduleHeaders } from '../../schedules/index.ts';
import { findSpec } from './specs.sql.ts';
import type { RunRow } from '../scheduler.sql.ts';

/** Header values that a run of an http schedule carries until it is over. */
export const sealedRunHeaders: Sealed = { ...sealedScheduleHeaders, table: 'scheduler.runs' };

/**
 * The spec of a run with its header values opened; call it right before the request. A run made by a gateway of an earlier
 * version has no values of its own; those of its schedule count. Undefined when the run is over meanwhile.
 */
export async function openRunSpec(
  { sql, keyring, gateways }: Pick<Kernel, 'sql' | 'keyring' | 'gateways'>,
  run: RunRow,
): Promise<Record<string, unknown> | undefined> {
  const spec = await findSpec(sql, run);
  if (!spec) return undefined;
  const headers = spec['headers'] as Headers | undefined;
  const lacksOwn = run.kind === 'http' && run.sealed_headers === null && headers !== undefined && holdsHidden(headers);
  const sealed = lacksOwn ? await findSealedHeaders(sql, run.schedule_id) : run.sealed_headers;
  await gateways.prove();
  return openSpec(keyring, { kind: run.kind, spec, sealed_headers: sealed });
}
