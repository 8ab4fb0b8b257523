import { contract } from '@svc/contract';
import type { OverviewPart } from '../../kernel/feature.ts';
import { countUnread, listCritical } from './notifications.summary.sql.ts';

const mostCritical = 10;

/** Alerts on the first page. */
export const notificationsOverview: OverviewPart = {
  rights: contract.notifications.list,
  async summary(db, accountId) {
    const [[row], critical] = await Promise.all([
      countUnread(db, accountId),
      listCritical(db, accountId, mostCritical),
    ]);
    return {
      counts: { notifications: { unread: row?.n ?? 0 } },
      attention: critical.map(({ id, title, body, since }) => ({
        id,
        kind: 'notification_critical' as const,
        severity: 'critical' as const,
        title,
        detail: body,
        since,
        href: `/notifications/${id}`,
        actions: [
          { id: 'read' as const, method: 'PATCH' as const, path: `/v1/notifications/${id}`, body: { read: true } },
        ],
      })),
    };
  },
};
