import type { OutboxOperation } from '@svc/sdk';
import { api } from './client.ts';

type Overview = Awaited<ReturnType<typeof api.overview.get>>;
/** A call that the API offers as a button. */
export type Action = Overview['attention'][number]['actions'][number];

const id = '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})';
/** Every call that a button may make, as operations of the API. Another path is no button. */
const known: readonly [method: string, path: RegExp, operation: OutboxOperation][] = [
  ['POST', new RegExp(`^/v1/schedule-runs/${id}/decision$`), 'scheduler.decide'],
  ['POST', new RegExp(`^/v1/schedule-runs/${id}/cancel$`), 'scheduler.cancel'],
  ['POST', new RegExp(`^/v1/schedule-runs/${id}/rerun$`), 'scheduler.rerun' as OutboxOperation],
  ['PATCH', new RegExp(`^/v1/heartbeats/${id}$`), 'heartbeats.update'],
  ['PATCH', new RegExp(`^/v1/notifications/${id}$`), 'notifications.update'],
  ['POST', /^\/v1\/schedules\/resume$/, 'schedules.resume'],
  ['POST', /^\/v1\/schedules\/pause$/, 'schedules.pause'],
];

/** The operation that an action stands for; undefined for one that is none of ours. */
export function operationOf(action: Action): { operation: OutboxOperation; input: object } | undefined {
  for (const [method, path, operation] of known) {
    const match = method === action.method ? path.exec(action.path) : null;
    if (!match) continue;
    const input = {
      ...(match[1] !== undefined && { params: { id: match[1] } }),
      ...(action.body && { body: action.body }),
    };
    return { operation, input };
  }
  return undefined;
}
