import { api } from '../../api/client.ts';

/** A webhook of the API. */
export type WebhookRecord = Awaited<ReturnType<typeof api.notifications.listWebhooks>>['webhooks'][number];

/** What a write makes old. */
export const staleByWebhook = ['notifications'];

/** What the form of a webhook holds. */
export interface WebhookDraft {
  name: string;
  url: string;
  format: WebhookRecord['format'];
  types: string;
  headers: string;
}

/** The form of a webhook, or one that nobody filled in. */
export const draftOf = (hook?: WebhookRecord): WebhookDraft => ({
  name: hook?.name ?? '',
  url: hook?.url ?? '',
  format: hook?.format ?? 'svc',
  types: hook?.types?.join(', ') ?? '',
  headers: Object.entries(hook?.headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
});

/** The body that the API takes. */
export function bodyOf({ name, url, format, types, headers }: WebhookDraft) {
  const named = types
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const pairs = lines.map((line): [string, string] => {
    const at = line.indexOf(':');
    return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return {
    name: name.trim(),
    url: url.trim(),
    format,
    types: named.length === 0 ? null : named,
    headers: pairs.length === 0 ? null : Object.fromEntries(pairs),
  };
}

/** Where an address is, without what may be secret in it. */
export function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return url;
  }
}
