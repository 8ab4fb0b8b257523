import { contract } from '@svc/contract';
import { readNow } from '../../kernel/db/instant.ts';
import { checkFresh } from '../../kernel/mount/access.ts';
import { noteChangesGone } from '../../kernel/records/app-changes.ts';
import { appOf, noteLetIn } from '../../kernel/records/let-in.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { checkRole, holdThere } from './environments.access.ts';
import { doerOf } from './environments.doer.ts';
import type { Environments } from './environments.store.ts';
import { toPort } from './environments.view.ts';
import { isWider, publish } from './people/ports.ts';
import { portsOf } from './people/ports.sql.ts';

export const publishPort = (environments: Environments): Operation =>
  operation(contract.environments.publishPort, async (context, { params: { id, port }, body }) => {
    // For others than its owner: that lets somebody in.
    if (body.visibility !== 'owner') checkFresh(context.actor, context.clock.now());
    return context.transaction(async (tx) => {
      const { accountId } = context.actor;
      const row = await holdThere(tx, { accountId, id, least: 'developer' });
      const { visibility, protocol, label = null } = body;
      if (visibility === 'public') checkRole(row.role, 'maintainer', 'to publish a port to everybody');
      const { iso } = await readNow(tx, context.clock);
      const known = (await portsOf(tx, id)).find((one) => one.port === port);
      const before = known?.visibility;
      // A port ends with the role of who published it: what the owner did is nobody else's for saying it once more.
      const isOwners = known !== undefined && (known.published_by ?? known.opened_by) === row.account_id;
      const publisher = isOwners && !isWider(visibility, before) ? row.account_id : accountId;
      const one = await publish(tx, iso, {
        environment_id: id,
        port,
        protocol,
        label,
        visibility,
        opened_by: accountId,
        published_by: publisher,
      });
      await noteChangesGone(tx, ['port_removed'], `${id}/${port}`);
      const name = `${port}, ${row.name}`;
      // An app that shuts it lets nobody in.
      if (appOf(context.actor) === undefined || isWider(visibility, before))
        await noteLetIn(tx, context.actor, { kind: 'port', subject: `${id}/${port}`, name, before });
      const payload = { port, visibility, label };
      await environments.tell(tx, row, doerOf(context), { kind: 'port_published', payload });
      return { port: toPort(one) };
    });
  });
