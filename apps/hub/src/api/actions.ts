import { allowedPath, isAllowedAction } from '@svc/contract/actions';
import type { OutboxOperation } from '@svc/sdk';
import { api } from './client.ts';

type Overview = Awaited<ReturnType<typeof api.overview.get>>;
/** A call that the API offers as a button. */
export type Action = Overview['attention'][number]['actions'][number];

/** Operations of the API by method and path of the acts that buttons may be. */
const operations: readonly [method: string, path: string, operation: OutboxOperation][] = [
  ['POST', '/v1/schedule-runs/{id}/decision', 'scheduler.decide'],
  ['POST', '/v1/schedule-runs/{id}/cancel', 'scheduler.cancel'],
  ['POST', '/v1/schedule-runs/{id}/rerun', 'scheduler.rerun'],
  ['PATCH', '/v1/heartbeats/{id}', 'heartbeats.update'],
  ['PATCH', '/v1/schedules/{id}', 'schedules.update'],
  ['PATCH', '/v1/notifications/{id}', 'notifications.update'],
  ['PATCH', '/v1/machines/{id}', 'machines.update'],
  ['POST', '/v1/schedules/pause', 'schedules.pause'],
  ['POST', '/v1/schedules/resume', 'schedules.resume'],
  ['POST', '/v1/sandboxes/{id}/pause', 'sandboxes.pause'],
  ['POST', '/v1/sandboxes/{id}/resume', 'sandboxes.resume'],
];

/** The operation that an act stands for; undefined for one that is not on the list of the contract. */
export function operationOf(action: Action): { operation: OutboxOperation; input: object } | undefined {
  if (!isAllowedAction(action)) return undefined;
  const found = operations.find(([method, path]) => method === action.method && allowedPath(path, action.path));
  if (!found) return undefined;
  const [, path, operation] = found;
  const at = path.split('/').indexOf('{id}');
  const id = at < 0 ? undefined : action.path.split('/')[at];
  const params = path.includes('machines') ? { device_id: id } : { id };
  return { operation, input: { ...(id !== undefined && { params }), ...(action.body && { body: action.body }) } };
}
