import type { Db } from '../../kernel/db/db.ts';
import { byCommand, writeAct } from '../../kernel/records/audit.ts';
import { passOnOfOrg } from './projects.sql.ts';

/** Gives the projects that somebody made in an organisation, of which they are no member any more, to an owner of it; answers how many. */
export async function passOnOrgProjects(tx: Db, leaver: Parameters<typeof passOnOfOrg>[1]): Promise<number> {
  const ids = await passOnOfOrg(tx, leaver);
  for (const id of ids) {
    const details = { from: leaver.accountId, org_id: leaver.orgId };
    await writeAct(tx, { accountId: leaver.heir, by: byCommand, action: 'projects.passed_on', subject: id, details });
  }
  return ids.length;
}
