import { contract } from '@svc/contract';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { VapidKeys } from './notifications.push.ts';

export const vapidKey = (vapid: () => Promise<VapidKeys>): Operation =>
  operation(contract.notifications.vapidKey, async () => ({ public_key: (await vapid()).publicKey }));
