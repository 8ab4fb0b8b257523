import { randomUUID } from 'node:crypto';
import { contract } from '@svc/contract';
import { localeOf, wordsOf } from '@svc/words';
import type { Db } from '../../kernel/db/db.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import { checkFresh } from '../../kernel/mount/access.ts';
import { rateLimitExceeded } from '../../kernel/share/limits.ts';
import { changeProfile, findEmail, findProfile } from '../accounts/index.ts';
import { endLinks } from '../auth/index.ts';
import { queueMail } from '../notifications/index.ts';
import { meOf } from './me.view.ts';

/** A refusal tells that another account has the address: nobody tries lists of them. */
const addresses = { name: 'own_addresses', perMinute: 20 };

export const update = operation(contract.me.update, async (context, { body }) => {
  const { actor, by, clock, kernel } = context;
  const { accountId } = actor;
  // Whoever has the address gets the mails that let people back in.
  if (body.email !== undefined) {
    checkFresh(actor, clock.now());
    const state = await kernel.limiter.take(addresses, accountId);
    if (!state.allowed) throw rateLimitExceeded(addresses.name, state);
  }
  const { name, ...change } = body;
  const set = { ...change, name: name === null ? '' : name };
  await context.transaction(async (tx) => {
    const former = await findEmail(tx, accountId);
    await changeProfile(tx, { ...set, id: accountId, by });
    if (body.email === undefined || former === undefined || former === body.email) return;
    // Links and codes that lie in the mailbox of the former address.
    await endLinks(kernel, { accountId, by, tx });
    await tellFormer(context, tx, { former, address: body.email });
  });
  return meOf(context);
});

/** Tells the one who loses it, too: a thief would keep the mail from its owner otherwise. */
async function tellFormer(
  { kernel, headers, actor }: Context,
  tx: Db,
  { former, address }: { former: string; address: string },
): Promise<void> {
  const { iso: at } = await readNow(tx, kernel.clock);
  const locale = (await findProfile(tx, actor.accountId))?.locale ?? localeOf(headers['accept-language']);
  const mail = wordsOf(locale).mails.addressChanged({ address, at });
  await queueMail(kernel, tx, { to: former, ...mail, dedupeKey: `me.address:${randomUUID()}` });
}
