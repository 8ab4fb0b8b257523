/**
 * The acts that a notification or an item of the overview may offer as a button. This file imports nothing: a service worker
 * loads it by itself and refuses every act that is not on the list, whatever a message carries.
 */

/** Names of the buttons. */
export const actionIds = ['approve', 'skip', 'cancel', 'rerun', 'pause', 'resume', 'read', 'archive', 'open'] as const;
type ActionId = (typeof actionIds)[number];

/** A kind of act: `{id}` in the path stands for one id, and the body is exactly this one. */
interface AllowedAction {
  readonly id: ActionId;
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: Readonly<Record<string, string | boolean>>;
}

const change = (id: ActionId, path: string, body: AllowedAction['body'] & object): AllowedAction => ({
  id,
  method: 'PATCH',
  path,
  body,
});
const post = (id: ActionId, path: string, body?: AllowedAction['body']): AllowedAction => ({
  id,
  method: 'POST',
  path,
  ...(body && { body }),
});
/** A page of the hub, below `{hub_url}`: it is opened, and nothing is sent. */
const page = (feature: string): AllowedAction => ({ id: 'open', method: 'GET', path: `/${feature}/{id}` });

/** Every act that there is. Paths are of the API, and for `open` those of pages below `{hub_url}`. */
export const allowedActions: readonly AllowedAction[] = [
  post('approve', '/v1/schedule-runs/{id}/decision', { decision: 'approve' }),
  post('skip', '/v1/schedule-runs/{id}/decision', { decision: 'skip' }),
  post('cancel', '/v1/schedule-runs/{id}/cancel'),
  post('rerun', '/v1/schedule-runs/{id}/rerun'),
  change('pause', '/v1/heartbeats/{id}', { paused: true }),
  change('resume', '/v1/heartbeats/{id}', { paused: false }),
  change('pause', '/v1/schedules/{id}', { enabled: false }),
  change('resume', '/v1/schedules/{id}', { enabled: true }),
  post('pause', '/v1/schedules/pause', {}),
  post('resume', '/v1/schedules/resume', {}),
  change('pause', '/v1/machines/{id}', { paused: true }),
  change('resume', '/v1/machines/{id}', { paused: false }),
  post('pause', '/v1/sandboxes/{id}/pause', {}),
  post('resume', '/v1/sandboxes/{id}/resume'),
  change('read', '/v1/notifications/{id}', { read: true }),
  change('archive', '/v1/notifications/{id}', { archived: true }),
  ...[
    'notifications',
    'heartbeats',
    'schedules',
    'schedule-runs',
    'machines',
    'hosts/exec',
    'sandboxes',
    'prompts',
    'sessions',
    'transcripts',
    'environments',
    'projects',
  ].map(page),
];

/** An id of a record in a path: letters, digits, `-` and `_`, so that no path leads elsewhere. */
const idShape = /^[A-Za-z0-9_-]{1,128}$/;

/** Whether a path is one of a template: the same but for its ids. */
export function allowedPath(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')];
  return (
    wanted.length === given.length &&
    wanted.every((part, i) => (part === '{id}' ? idShape.test(given[i] ?? '') : part === given[i]))
  );
}

/** Whether an act is on the list, with exactly the body that it has there. Takes anything: a message may hold anything. */
export function isAllowedAction(action: unknown): boolean {
  if (typeof action !== 'object' || action === null) return false;
  const { id, method, path, body } = action as Record<string, unknown>;
  if (typeof path !== 'string') return false;
  return allowedActions.some(
    (one) => one.id === id && one.method === method && allowedPath(one.path, path) && isBody(one.body, body),
  );
}

/** Whether a body has the fields of another one, with the same values, and no further ones. */
function isBody(wanted: AllowedAction['body'], given: unknown): boolean {
  if (wanted === undefined) return given === undefined;
  if (typeof given !== 'object' || given === null) return false;
  const [names, fields] = [Object.keys(wanted), given as Record<string, unknown>];
  return Object.keys(fields).length === names.length && names.every((name) => fields[name] === wanted[name]);
}
