import type { notification } from '@svc/contract';
import type { z } from 'zod';
import { webLink, type WebLinks } from './notifications.rules.ts';
import type { NotificationRow } from './notifications.sql.ts';

/** A row as the API shows it: what is not set is left out. */
export function toRecord(config: WebLinks, row: NotificationRow): z.input<typeof notification> {
  const web = row.url === null ? undefined : webLink(config, row.url);
  const { id, type, title, body, url, severity, data, created_at, read_at, archived_at } = row;
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
  };
}
