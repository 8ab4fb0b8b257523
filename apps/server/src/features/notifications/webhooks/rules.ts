import { createHmac, randomBytes } from 'node:crypto';
import { ApiError, badRequest } from '../../../kernel/base/errors.ts';
import { cut, type WebhookFormat, webLink, type WebLinks } from '../notifications.rules.ts';
import type { NotificationRow } from '../notifications.sql.ts';

/** The sealed fields of a webhook. */
export interface WebhookSecrets {
  url: string;
  /** `whsec_` and 32 bytes in base64. */
  secret: string;
  /** Those before, which sign too until their instant (milliseconds since the epoch). */
  previous: { secret: string; until: number }[];
  headers: Record<string, string>;
}

const secretPrefix = 'whsec_';
const secretBytes = 32;
/** A receiver has this long to take a new secret. */
const overlapMs = 24 * 3_600_000;
/** Each was promised that time, and makes each request longer. */
const mostPrevious = 4;

/** A secret as Standard Webhooks writes it. */
export const newSecret = (): string => secretPrefix + randomBytes(secretBytes).toString('base64');

/** The same with a new secret; the old one signs too for a day. Throws 409 while as many sign as may. */
export function rotated(secrets: WebhookSecrets, now: number): WebhookSecrets & { until: number } {
  const until = now + overlapMs;
  const signing = secrets.previous.filter((one) => one.until > now);
  if (signing.length >= mostPrevious) {
    const free = new Date(Math.min(...signing.map((one) => one.until))).toISOString();
    const message =
      `${mostPrevious} earlier secrets still sign, as was promised; rotate again after ${free}, or make another ` +
      'webhook and delete this one';
    throw new ApiError('too_many_secrets', message);
  }
  return { ...secrets, secret: newSecret(), previous: [{ secret: secrets.secret, until }, ...signing], until };
}

/** The headers of Standard Webhooks: a signature for each secret that is valid now. */
export function signatureHeaders(
  { secret, previous }: WebhookSecrets,
  message: { id: string; now: number; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(message.now / 1000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = [secret, ...previous.filter(({ until }) => until > message.now).map((one) => one.secret)]
    .map((one) => Buffer.from(one.slice(secretPrefix.length), 'base64'))
    .map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** The body to post, and where: an ntfy topic takes JSON at the address above its own. */
interface WebhookRequest {
  url: string;
  body: string;
}

/** A notification in the shape of a webhook's format; `record` is the notification as the API shows it. */
export function requestOf(
  format: WebhookFormat,
  url: string,
  { row, record, config }: { row: NotificationRow; record: object; config: WebLinks },
): WebhookRequest {
  const link = row.url === null ? undefined : (webLink(config, row.url) ?? row.url);
  if (format === 'slack') return { url, body: JSON.stringify(slackBody(row, link)) };
  if (format === 'ntfy') {
    const { topic, publishUrl } = topicOf(url) as Topic;
    return { url: publishUrl, body: JSON.stringify(ntfyBody(row, topic, link)) };
  }
  const timestamp = new Date(row.created_at).toISOString();
  return { url, body: JSON.stringify({ type: row.type, timestamp, data: { ...record, created_at: timestamp } }) };
}

/** In `mrkdwn` these three have a meaning, mentions of everybody among them. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const marks = { info: 'ℹ️', warning: '⚠️', critical: '🚨' } as const;

function slackBody({ title: given, body: text, severity, type }: NotificationRow, link: string | undefined): object {
  // Slack refuses a text of blanks.
  const [title, body] = [given.trim() || type, text.trim()];
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
  // Slack takes addresses of the web only.
  const href = link !== undefined && /^https?:/.test(link) && URL.canParse(link) ? new URL(link).href : undefined;
  return {
    text: slackText(body === '' ? title : `${title}: ${cut(body, 1_000)}`),
    blocks: [
      { type: 'header', text: plain(cut(`${marks[severity]} ${title}`, 150)) },
      ...(body === '' ? [] : [{ type: 'section', text: plain(cut(body, 2_900)) }]),
      ...(href === undefined || href.length > 2_900
        ? []
        : [{ type: 'section', text: { type: 'mrkdwn', text: `<${slackText(href).replaceAll('|', '%7C')}|Open>` } }]),
      { type: 'context', elements: [plain(cut(`${type} · ${severity}`, 200))] },
    ],
  };
}

/** From here on an ntfy server makes a message an attachment; a JSON that is longer it refuses. */
const mostNtfyBytes = { message: 4_000, json: 8_192 };
/** How a topic is read, or published to in other ways: addresses below its own. */
const belowTopics = /^(?:json|sse|raw|ws|publish|send|trigger|auth)$/;
const ntfyTerms = {
  info: { priority: 3, tags: ['information_source'] },
  warning: { priority: 4, tags: ['warning'] },
  critical: { priority: 5, tags: ['rotating_light'] },
} as const;

function ntfyBody({ title, body, severity, type }: NotificationRow, topic: string, link: string | undefined): object {
  const { priority, tags } = ntfyTerms[severity];
  const bodyOf = (message: string) => ({
    topic,
    title,
    message,
    priority,
    tags: [...tags, type],
    ...(link !== undefined && { click: link }),
  });
  const fits = (message: string): boolean =>
    Buffer.byteLength(message) <= mostNtfyBytes.message &&
    Buffer.byteLength(JSON.stringify(bodyOf(message))) <= mostNtfyBytes.json;
  let message = body === '' ? title : body;
  while (message.length > 1 && !fits(message)) message = cut(message, Math.floor(message.length * 0.8));
  return bodyOf(message);
}

interface Topic {
  topic: string;
  publishUrl: string;
}

/** The topic of an address as a person copies it, and where its server takes JSON; undefined when it names no topic. */
export function topicOf(address: string): Topic | undefined {
  const url = new URL(address);
  const [, folder, topic] = /^(.*\/)([-_A-Za-z0-9]{1,64})$/.exec(url.pathname) ?? [];
  if (folder === undefined || topic === undefined) return undefined;
  if (folder !== '/' && belowTopics.test(topic)) return undefined;
  url.pathname = folder;
  url.hash = '';
  return { topic, publishUrl: url.href };
}

/** Seconds until each further attempt: ten attempts in 79 hours, as Standard Webhooks proposes. */
const waits = [5, 30, 120, 600, 3_600, 21_600, 86_400, 86_400, 86_400];
/** A receiver may ask for this much patience. */
const longestAskedSeconds = 21_600;
const jitter = 0.2;

/**
 * Seconds until a failed delivery is tried again, up to a fifth longer by chance, so that what failed together does not
 * come back together; or what the receiver asked for. Undefined after the last attempt.
 */
export function webhookRetryAfter(attempts: number, asked = 0, chance = Math.random()): number | undefined {
  const wait = waits[attempts - 1];
  if (wait === undefined) return undefined;
  return Math.max(Math.round(wait * (1 + jitter * chance)), Math.min(asked, longestAskedSeconds));
}

/** A webhook that nothing arrived at for so long when a delivery is given up is switched off. */
export const failingMs = 3 * 86_400_000;

/**
 * Until then whatever waits comes again soon by itself. A receiver that takes others is not asked more often for the one
 * message that it refuses: that would use up its attempts.
 */
export const shortOutageMs = 600_000;

/** `Retry-After` in seconds, from either of its forms; 0 without one. */
export function askedSeconds(header: string | string[] | undefined, now: number): number {
  if (typeof header !== 'string') return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, Math.ceil((at - now) / 1000));
}

/** 400 for `headers`. */
export const refusedHeaders = (message: string) => badRequest(`headers: ${message}`, { headers: [message] });

/** Whether two addresses are of different servers: what was meant for one must not go to the other. */
export const isOtherServer = (one: string, other: string): boolean => new URL(one).origin !== new URL(other).origin;
