import type { Context } from '../../kernel/http/context.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { rateLimitExceeded } from '../../kernel/share/limits.ts';
import { noteGone, noteLetIn } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { type BadgeOf, deleteBadge, findBadge, replaceBadge, worstStatus } from './heartbeats.keys.sql.ts';
import { shownStatus } from './heartbeats.rules.ts';
import { findMonitor, stateOf } from './heartbeats.sql.ts';
import { hashBadge, newToken } from './heartbeats.token.ts';

/** Shown of all monitors together: up to 10,000 rows are read for it. */
const ofAccount = { name: 'badges', perMinute: 120 };

/** The colours by name, as shields.io has them. */
const colors = {
  up: 'brightgreen',
  late: 'orange',
  down: 'red',
  new: 'lightgrey',
  paused: 'lightgrey',
} as const;
const paints = { brightgreen: '#4c1', orange: '#fe7d37', red: '#e05d44', lightgrey: '#9f9f9f' } as const;

/** The text and colour of a badge. */
interface Badge {
  label: string;
  message: keyof typeof colors;
  color: (typeof colors)[keyof typeof colors];
}

/** Makes a badge, in place of the one that there is, and answers where it is shown. */
export async function makeBadge(context: Context, action: string, monitorId: string | null) {
  const { kernel, clock, by } = context;
  const { accountId } = context.actor;
  const token = newToken();
  const hash = hashBadge(kernel.keyring, token) as Buffer;
  return context.transaction(async (tx) => {
    const createdAt = await replaceBadge(tx, clock, { accountId, monitorId }, hash);
    if (createdAt === undefined) throw notFound('heartbeat');
    await noteLetIn(tx, context.actor, { kind: 'badge', subject: monitorId ?? accountId, name: '' });
    await writeAct(tx, { accountId, by, action, subject: monitorId ?? undefined });
    const url = `${kernel.config.baseUrl}/badge/${token}`;
    return { svg_url: `${url}.svg`, json_url: `${url}.json`, created_at: createdAt };
  });
}

/** Ends a badge; throws 404 when it does not exist. */
export async function endBadge(context: Context, action: string, monitorId: string | null) {
  const { accountId } = context.actor;
  const badge: BadgeOf = { accountId, monitorId };
  return context.transaction(async (tx) => {
    if (!(await deleteBadge(tx, badge))) throw notFound('badge');
    await noteGone(tx, ['badge'], monitorId ?? accountId);
    await writeAct(tx, { accountId, by: context.by, action, subject: monitorId ?? undefined });
    return { deleted: true as const };
  });
}

/** The badge of a token as it is now; throws 404 for an unknown token. */
export async function readBadge({ kernel, db, clock }: Context, token: string): Promise<Badge> {
  const hash = hashBadge(kernel.keyring, token);
  const badge = hash && (await findBadge(db, hash));
  if (!badge) throw notFound('badge');
  const { accountId, monitorId } = badge;
  if (monitorId === null) {
    const state = await kernel.limiter.take(ofAccount, badge.id);
    if (!state.allowed) throw rateLimitExceeded(ofAccount.name, state);
    return badgeOf('monitors', await worstStatus(db, clock, accountId));
  }
  const row = await findMonitor(db, clock, accountId, monitorId);
  if (!row) throw notFound('badge');
  return badgeOf(row.name, shownStatus(stateOf(row), Date.parse(row.now)));
}

const badgeOf = (label: string, message: Badge['message']): Badge => ({ label, message, color: colors[message] });

const height = 20;
const padding = 6;
/** An average letter of Verdana at 11 pixels; those of Asia are as wide as they are high. */
const widthOf = (text: string): number =>
  Array.from(text, (letter) => ((letter.codePointAt(0) as number) < 0x1100 ? 7 : 11)).reduce((a, b) => a + b, 0);

/**
 * Characters that XML cannot hold in any spelling (controls but for white space, two that are no characters), or that turn text
 * around.
 */
const noXml = /[^\P{Cc}\t\n\r]|[\ufffe\uffff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string =>
  text.replace(noXml, '\ufffd').replace(/[&<>"']/g, (letter) => references[letter] as string);

/** A badge as a picture: without scripts, styles, links or anything that is loaded. */
export function drawBadge({ label, message, color }: Badge): string {
  const left = widthOf(label) + 2 * padding;
  const right = widthOf(message) + 2 * padding;
  const text = (words: string, x: number, width: number): string =>
    `<text x="${x}" y="14" textLength="${width}" lengthAdjust="spacingAndGlyphs">${words}</text>`;
  const name = escaped(label);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${height}" role="img" aria-label="${name}: ${message}">`,
    `<title>${name}: ${message}</title>`,
    `<rect width="${left}" height="${height}" fill="#555"/>`,
    `<rect x="${left}" width="${right}" height="${height}" fill="${paints[color]}"/>`,
    '<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">',
    text(name, padding, left - 2 * padding),
    text(message, left + padding, right - 2 * padding),
    '</g></svg>',
  ].join('');
}
