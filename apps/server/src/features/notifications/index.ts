import type { Kernel } from '../../kernel/context.ts';
import type { Db } from '../../kernel/db.ts';
export async function notify(
  _kernel: Kernel,
  _db: Db,
  _notification: {
    accountId: string;
    dedupeKey: string;
    type: string;
    title: string;
    body: string;
    url?: string;
    severity: 'info' | 'warning' | 'critical';
    data?: Record<string, unknown>;
  },
): Promise<void> {}
