import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { PortName } from './names.ts';
import { insertTicket, takeTicket, type Ticket } from './tickets.sql.ts';
import type { Visitor } from './visits.sql.ts';

/** In the address with which a browser comes the first time. */
export const ticketParameter = 'svc_ticket';
const ticketSeconds = 60;
/** What a cookie is good for, at most; it ends before that with the role, the key or login, or the account. */
const cookieMs = 12 * 3_600_000;
const purpose = 'published-port';

const hashOf = (ticket: string): Buffer => createHash('sha256').update(ticket).digest();

/** Makes a ticket, which lets in one browser within 60 s. */
export async function mintTicket(
  db: Db,
  { clock }: Pick<Kernel, 'clock'>,
  of: Ticket,
): Promise<{ ticket: string; expiresAt: string }> {
  const ticket = randomBytes(24).toString('base64url');
  return { ticket, expiresAt: await insertTicket(db, clock, of, { hash: hashOf(ticket), seconds: ticketSeconds }) };
}

/** Takes a ticket; answers the value of the cookie that its browser has from then on. */
export async function redeemTicket(
  kernel: Pick<Kernel, 'sql' | 'clock' | 'keyring'>,
  place: PortName,
  ticket: string,
): Promise<{ cookie: string; seconds: number } | undefined> {
  const { sql, clock } = kernel;
  const visitor = await takeTicket(sql, clock, { hash: hashOf(ticket), ...place });
  if (!visitor) return undefined;
  const said = `${visitor.accountId}.${visitor.credentialId}.${clock.now() + cookieMs}`;
  return { cookie: `${said}.${macOf(kernel, place, said)}`, seconds: cookieMs / 1_000 };
}

/** Who shows a cookie; undefined when it is none of this port, or over. */
export function visitorOf(
  kernel: Pick<Kernel, 'clock' | 'keyring'>,
  place: PortName,
  cookie: string,
): Visitor | undefined {
  const [accountId = '', credentialId = '', until = '', mac = ''] = cookie.split('.', 5);
  const expected = Buffer.from(macOf(kernel, place, `${accountId}.${credentialId}.${until}`));
  const given = Buffer.from(mac);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return Number(until) > kernel.clock.now() ? { accountId, credentialId } : undefined;
}

/** Binds a cookie to its port: that of another origin says nothing here. */
const macOf = ({ keyring }: Pick<Kernel, 'keyring'>, { slug, port }: PortName, said: string): string =>
  keyring.mac(purpose, `${slug} ${port} ${said}`).toString('base64url');
