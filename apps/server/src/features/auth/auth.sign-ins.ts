import { localeOf, wordsOf } from '@svc/words';
import { inTransaction, onCommit } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { findProfile, type SignIns } from '../accounts/index.ts';
import { noticeOf } from './auth.notices.ts';
import { notify } from '../notifications/index.ts';
import { FeedWriter } from '../../kernel/streams/feed.writer.ts';
import { createAccountLink, linkUrl } from './auth.links.ts';
import type { SendMail } from './flows/parts.ts';
import { createLink, endLinks, inviteSeconds } from './people/links.ts';
import { lastSeenOf } from './people/logins.sql.ts';
import { endLogins } from './people/logins.ts';
import { listPasskeys } from './people/passkeys.sql.ts';
import { hasPassword } from './people/passwords.ts';
import { deleteProviderSessions } from './provider/records.sql.ts';

type Parts = Pick<Kernel, 'sql' | 'bus' | 'clock' | 'config' | 'gateways' | 'log'>;

/** How operators change the ways in which people sign in; commands use the same. */
export const signInsOf = (parts: Parts, mail: SendMail | undefined): SignIns => ({
  async lastSeen(db, accountIds) {
    const rows = await lastSeenOf(db, parts.clock, accountIds);
    return new Map(rows.map(({ account_id: id, at }) => [id, at]));
  },
  async invite(tx, { accountId, email, by, language }) {
    const { token } = await createLink(parts, { purpose: 'invite', accountId, email, by, tx });
    const link = linkUrl(parts.config, 'link', token);
    if (mail) {
      const server = new URL(parts.config.authUrl).host;
      const said = wordsOf(localeOf(language)).mails.invitation({ link, validSeconds: inviteSeconds, server });
      // Not waited for: the link is in the answer too.
      await onCommit(tx, async () => {
        mail(email, said).catch((err: unknown) => parts.log.warn({ err }, 'a mail with an invitation was not sent'));
      });
    }
    return link;
  },
  async link(accountId, by) {
    const [isSet, passkeys, profile] = await Promise.all([
      hasPassword(parts.sql, accountId),
      listPasskeys(parts.sql, accountId),
      findProfile(parts.sql, accountId),
    ]);
    // A link to set up also takes another address: it is for those who run the installation alone.
    const first = profile?.operator === true ? 'setup' : 'invite';
    const purpose = isSet || passkeys.length > 0 ? 'recover' : first;
    return createAccountLink(parts, { accountId, purpose, by });
  },
  async addressTaken(tx, { accountId, before, email, by }) {
    // Links and codes that lie in the mailbox of the address.
    await endLinks(parts, { accountId, by, tx });
    const notice = noticeOf(accountId, { type: 'login.address_taken', before, email });
    await notify({ ...parts, feed: new FeedWriter(parts) }, tx, notice);
  },
  async signOut(accountId, by) {
    return inTransaction(parts.sql, async (tx) => {
      await deleteProviderSessions(tx, accountId);
      return endLogins(parts, { accountId, by, tx });
    });
  },
});
