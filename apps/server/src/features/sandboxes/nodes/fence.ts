import type { NodeClient } from '@svc/sandboxd-api';
import type { Db } from '../../../kernel/db/db.ts';
import { raiseTurn, saveAhead } from './fence.sql.ts';

/**
 * Tells a node that this platform is at its next turn. False: the node has heard a turn that this database never gave, so that
 * this is a copy of the platform that it serves, or one that was restored beside it; nothing is asked of the node then, until
 * somebody decides (`takeNodesOver`). Two gateways of one platform pass each other, which is no refusal.
 */
export async function takeTurn(
  db: Db,
  { id, client, owner }: { id: string; client: NodeClient; owner: string },
): Promise<boolean> {
  const turn = await raiseTurn(db, id);
  if (turn === undefined) return false;
  const { accepted, heard } = await client.takeTurn({ owner, turn });
  return accepted || !(await saveAhead(db, id, turn, heard));
}

/** What is told where the sandboxes of a node are another platform's. */
export const aheadText =
  'its node serves another platform with the same data, and that one is ahead: this is a copy of it, or was restored beside it';
/** What to do about it. */
export const aheadFix = 'end one of the two; to go on with this one: ./svc restore confirm';
