import { isAllowedAction, type notification, type webhook } from '@svc/contract';
import type { z } from 'zod';
import { actionsOf } from './notifications.actions.ts';
import { pageOf, webLink, type WebLinks } from './notifications.rules.ts';
import { hide } from '../../kernel/base/hidden.ts';
import type { Actor } from '../../kernel/base/actor.ts';
import type { NotificationRow } from './notifications.sql.ts';
import type { WebhookSecrets } from './webhooks/rules.ts';
import type { AttemptRow, WebhookRow } from './webhooks/webhooks.sql.ts';

/** A row as the API shows it: what is not set is left out. */
export function toRecord(config: WebLinks, row: NotificationRow): z.input<typeof notification> {
  const page = row.url === null ? undefined : pageOf(config, row.url);
  const web = row.url === null ? undefined : webLink(config, row.url);
  const { id, type, title, body, url, severity, data, created_at, read_at, archived_at, resolved_at, resolution } = row;
  return {
    id,
    type,
    title,
    body,
    ...(url !== null && { url }),
    ...(web !== undefined && { web_url: web }),
    severity,
    ...(data !== null && { data }),
    created_at,
    ...(read_at !== null && { read_at }),
    ...(archived_at !== null && { archived_at }),
    ...(resolved_at !== null && resolution !== null && { resolved_at, resolution }),
    actions: actionsOf(row, page).filter(isAllowedAction),
  };
}

/**
 * A webhook as the API shows it: header values never, and its address whole only to a key that may change it. Without
 * `secrets` it is broken: nobody can open them.
 */
export function toWebhook(
  row: WebhookRow,
  secrets: Pick<WebhookSecrets, 'url' | 'headers'> | undefined,
  { scopes }: Pick<Actor, 'scopes'>,
): z.input<typeof webhook> {
  const { id, name, format, types, enabled, disabled_reason, failing_since, created_at, updated_at } = row;
  const { url, headers } = secrets ?? { url: '', headers: {} };
  const mayChange = scopes.includes('*') || scopes.includes('notifications');
  return {
    id,
    name,
    url: mayChange || !secrets ? url : new URL(url).origin,
    ...(!secrets && { broken: true }),
    format,
    ...(types !== null && { types }),
    ...(Object.keys(headers).length > 0 && { headers: hide(headers) }),
    enabled,
    ...(disabled_reason !== null && { disabled_reason }),
    ...(failing_since !== null && { failing_since }),
    created_at,
    updated_at,
  };
}

/** An attempt at a delivery as the API shows it. */
export function toAttempt(row: AttemptRow) {
  const { message_id, notification_id, type, at, attempt, ok, status, reason, duration_ms, next_attempt_at } = row;
  return {
    message_id,
    ...(notification_id !== null && { notification_id }),
    type,
    at,
    attempt,
    ok,
    ...(status !== null && { status }),
    ...(reason !== null && { reason }),
    duration_ms,
    ...(next_attempt_at !== null && { next_attempt_at }),
  };
}
