import type { EndedProcess } from '@svc/sandboxd-api';
import type { Kernel } from '../../../kernel/kernel.ts';
import { costsOf } from '../../metering/index.ts';
import type { SandboxRow } from '../sandboxes.sql.ts';
import { toRecord } from '../sandboxes.view.ts';

type Parts = Pick<Kernel, 'sql' | 'clock' | 'config'>;

/** Sandboxes as the API shows them, each with what it has cost; `endedOf` knows what crashed in one after its resume. */
export async function showAll(
  kernel: Parts,
  rows: readonly SandboxRow[],
  endedOf: (row: SandboxRow) => EndedProcess[] | undefined = () => undefined,
) {
  const ids = rows.map(({ id }) => id);
  const [now, costs] = [kernel.clock.now(), await costsOf(kernel, ids)];
  return rows.map((row) => ({
    ...toRecord(row, now, endedOf(row)),
    cost_micro_eur: costs.get(row.id) ?? 0,
  }));
}

/** One sandbox in the same way. */
export async function show(kernel: Parts, row: SandboxRow, endedOf?: (row: SandboxRow) => EndedProcess[] | undefined) {
  const [record] = await showAll(kernel, [row], endedOf);
  return record as NonNullable<typeof record>;
}
