import type { Db } from '../../kernel/db/db.ts';
import { columns, type SandboxRow } from './sandboxes.sql.ts';

/** Changes the labels of a sandbox and its way out; what is undefined stays. */
export async function relabelSandbox(
  db: Db,
  id: string,
  { metadata, egress }: { metadata?: SandboxRow['metadata'] | undefined; egress?: SandboxRow['egress'] | undefined },
): Promise<SandboxRow> {
  const json = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value));
  const [row] = await db<SandboxRow[]>`
    update sandboxes.sandboxes set metadata = coalesce(${json(metadata)}, metadata), egress = coalesce(${json(egress)}, egress)
    where id = ${id} returning ${columns(db)}`;
  return row as SandboxRow;
}
