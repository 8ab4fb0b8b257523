import type { NodeClient } from '@svc/sandboxd-api';
import type { Db } from '../../../kernel/db/db.ts';
import { raiseTurn, reachTurn, saveAhead } from './fence.sql.ts';

/**
 * Tells a node that this platform is at its next turn. False: the node has heard a turn that this database never gave, so that
 * this is a copy of the platform that it serves, or one that was restored beside it; nothing is asked of the node then, until
 * somebody decides (`takeNodesOver`). `holder` names who asks, for as long as its process lives. Two gateways of one platform pass each other, which is no refusal.
 */
export async function takeTurn(
  db: Db,
  { id, client, owner, holder }: { id: string; client: NodeClient; owner: string; holder: string },
): Promise<boolean> {
  const turn = await raiseTurn(db, id);
  if (turn === undefined) return false;
  const { accepted, heard } = await client.takeTurn({ owner, turn, holder });
  if (accepted) {
    // This process was heard before, and the database lost what it had committed, as a replica that took over does.
    if (heard > turn) await reachTurn(db, id, heard);
    return true;
  }
  if (await saveAhead(db, id, turn, heard)) return false;
  client.turn = heard;
  return true;
}

/** What is told where the sandboxes of a node are another platform's. */
export const aheadText =
  'its node serves another platform with the same data, and that one is ahead: this is a copy of it, or was restored beside it';
/** What to do about it. */
export const aheadFix = 'end one of the two; to go on with this one: ./svc restore confirm';
