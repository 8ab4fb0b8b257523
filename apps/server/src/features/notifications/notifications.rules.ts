import { createHash } from 'node:crypto';
import type { Words } from '@svc/words';
import type { Config } from '../../config.ts';
import { readable } from '../../kernel/base/text.ts';

/** A notification from a feature to an account, in words that somebody else chose. Words of ours are a `NewNotice`. */
export interface NewNotification {
  accountId: string;
  /** A repeat of it in the account is no second notification. */
  dedupeKey: string;
  /** `<feature>.<what>`. */
  type: string;
  title: string;
  body: string;
  url?: string;
  severity: Severity;
  data?: Record<string, unknown>;
  /**
   * What it tells of and waits for the end of, such as `run:<id>`; `resolveNotifications` is called with it then. Unset: it is news,
   * which nothing ends.
   */
  cause?: string;
  /** Another account did it: where not everything can wait, this goes first. */
  isOfOthers?: boolean;
}

/** The same in words of the server, for an account whose language is looked up. */
export type NewNotice = Omit<NewNotification, 'title' | 'body'> & { says: (words: Words['alerts']) => NoticeText };
/** What a notification says. */
export type NoticeText = Pick<NewNotification, 'title' | 'body'>;

export type Severity = 'info' | 'warning' | 'critical';

/** How urgent a delivery is: what waits goes out in this order, and is dropped in the other one. */
export const urgencies = { urgent: 0, warning: 1, news: 2, ofOthers: 3, withdrawn: 4 } as const;
/** Somebody got into the account or may have, or something waits for a person's word. */
const isUrgentType = /^(?:login|passkey|password|connection)\.|approval$/;

/** Its urgency, 0 first. */
export function urgencyOf({
  type,
  severity,
  isOfOthers,
}: Pick<NewNotification, 'type' | 'severity' | 'isOfOthers'>): number {
  if (isOfOthers) return urgencies.ofOthers;
  if (severity === 'critical' || isUrgentType.test(type)) return urgencies.urgent;
  return severity === 'warning' ? urgencies.warning : urgencies.news;
}

/** In which shape a webhook takes notifications. */
export type WebhookFormat = 'svc' | 'slack' | 'ntfy';

/** Of a body; what stands behind is cut anyway. */
const mostRead = 40_000;
const longest = { title: 200, body: 4_000, url: 2_000, key: 300, dataBytes: 8_192 };

/** A notification within its bounds. Cut, not refused: what it tells of has happened, and must be stored. */
export function bounded(given: NewNotification): NewNotification {
  const { data, url, ...rest } = given;
  const fits = data !== undefined && Buffer.byteLength(JSON.stringify(data)) <= longest.dataBytes;
  return {
    ...rest,
    dedupeKey: boundedKey(given.dedupeKey),
    type: clean(given.type, longest.title),
    title: clean(readable(given.title).replace(/\s+/g, ' '), longest.title),
    // Colours are cut out first: they are no text that counts.
    body: clean(readable(given.body.slice(0, mostRead)), longest.body),
    ...(url !== undefined && { url: clean(url, longest.url) }),
    ...(fits && { data }),
  };
}

/** A key that an index can hold. */
export function boundedKey(key: string): string {
  return key.length <= longest.key ? clean(key, longest.key) : createHash('sha256').update(key).digest('hex');
}

/** Text that the database can hold, at most `most` UTF-16 units. */
const clean = (text: string, most: number): string => cut(text.replaceAll('\u0000', '').toWellFormed(), most);

/** At most `most` UTF-16 units, never cut in the middle of a character. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;

const mostAttempts = 12;
const firstWaitSeconds = 5;
const longestWaitSeconds = 3_600;

/**
 * Seconds until a failed delivery is tried again: 5, 10, 20, … up to an hour, or what the service asked for; undefined
 * after the twelfth attempt, about two and a half hours after the first.
 */
export function retryAfter(attempts: number, asked = 0): number | undefined {
  if (attempts >= mostAttempts) return undefined;
  return Math.min(Math.max(firstWaitSeconds * 2 ** (attempts - 1), asked), longestWaitSeconds);
}

/** `Retry-After` in seconds; 0 when it is absent or a date. */
export function secondsOf(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : 0;
}

const day = 86_400;

/** How a push service treats it (RFC 8030): how long it is kept for a browser that is away, and whether it may wait. */
export const pushTerms: Record<Severity, { TTL: number; urgency: 'low' | 'normal' | 'high' }> = {
  info: { TTL: day, urgency: 'low' },
  warning: { TTL: 3 * day, urgency: 'normal' },
  critical: { TTL: 7 * day, urgency: 'high' },
};

/** The settings for addresses of the app and of the hub. */
export type WebLinks = Pick<Config, 'appScheme' | 'hubUrl'>;

/** The page of the hub, below its address, for what an app's address leads to; undefined for another kind of address. */
export function pageOf({ appScheme }: Pick<WebLinks, 'appScheme'>, url: string): string | undefined {
  const own = `${appScheme}://`;
  return url.startsWith(own) ? `/${url.slice(own.length)}` : undefined;
}

/** The web address of what an app's address leads to; undefined for another kind of address. */
export function webLink(config: WebLinks, url: string): string | undefined {
  const page = pageOf(config, url);
  return page === undefined ? undefined : `${config.hubUrl}${page}`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] as string);

/** A notification as the text and the HTML of an e-mail. Only addresses of the web and of the app become links. */
export function mailText(
  { title, body, url }: { title: string; body: string; url: string | null },
  config: WebLinks,
): { text: string; html: string } {
  // In a mail program on another machine the app's own scheme leads nowhere: the web's comes first.
  const urls = url === null ? [] : [webLink(config, url), url].filter((each) => each !== undefined);
  const schemes = ['http:', 'https:', `${config.appScheme}:`];
  const link = urls
    .map((each) => ({ address: escapeHtml(each), isLink: schemes.some((scheme) => each.startsWith(scheme)) }))
    .map(({ address, isLink }) => `\n<p>${isLink ? `<a href="${address}">${address}</a>` : address}</p>`)
    .join('');
  return {
    text: [title, body, urls.join('\n')].filter((part) => part !== '').join('\n\n'),
    html: `<p><strong>${escapeHtml(title)}</strong></p>\n<p style="white-space:pre-line">${escapeHtml(body)}</p>${link}\n`,
  };
}
