import { contract, type Route, scopesOf } from '@svc/contract';
import { SvcError } from '@svc/sdk';

interface KnownRoute {
  id: string;
  method: string;
  path: RegExp;
  scopes: readonly string[];
}

const all: KnownRoute[] = Object.entries(contract).flatMap(([feature, verbs]) =>
  Object.entries(verbs as Record<string, Route>).map(([verb, route]) => ({
    id: `${feature}.${verb}`,
    method: route.method,
    path: new RegExp(
      `^${route.path
        .replaceAll('.', '\\.')
        .replace(/\{\w+\*\}/, '.*')
        .replace(/\{\w+\}/g, '[^/]+')}$`,
    ),
    scopes: scopesOf(feature, route),
  })),
);

/** Whole words before parameters: `stream` is no id. */
const routes = all.toSorted((a, b) => Number(a.path.source.includes('[^')) - Number(b.path.source.includes('[^')));

/** Use of a route for this machine, where the route's name does not say it. */
const uses: Readonly<Record<string, string>> = {
  'hosts.stream': 'be a host',
  'hosts.result': 'answer operations',
  'hosts.startExec': 'start commands that nobody waits for',
  'hosts.appendOutput': 'send what such commands write',
  'scheduler.claim': 'take scheduled runs',
  'scheduler.heartbeat': 'keep scheduled runs',
  'scheduler.result': 'report scheduled runs',
  'scheduler.appendLog': 'send the logs of scheduled runs',
  'scheduler.reportNative': 'report runs of its own timers',
  'schedules.list': 'see what waits for an approval here',
  'schedules.stream': 'hear at once that a run was cancelled',
  'schedules.approveCommand': 'tell of approvals',
  'sessions.stream': 'hear of prompts that are sent to it',
  'sessions.append': 'report what its agent says',
  'devices.list': 'name the device that asks at this terminal',
};

/**
 * `fetch` that says of each route that the key may not call what it is for and which scope it needs: once, until the
 * route is let through again. A key with one scope of two would otherwise do half of its work without a word.
 */
export function sayRefusals(log: (text: string) => void, send: typeof fetch = fetch): typeof fetch {
  const told = new Set<string>();
  return async (input, init) => {
    const response = await send(input, init);
    const method = init?.method ?? 'GET';
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    // A gateway may stand below a path of its own.
    const route = routes.find(
      (one) => one.method === method && one.path.test(pathname.slice(pathname.indexOf('/v1/'))),
    );
    if (!route) return response;
    if (response.ok) told.delete(route.id);
    if (response.status !== 403 || told.has(route.id)) return response;
    if (!lacksScope(await SvcError.fromResponse(response.clone()))) return response;
    told.add(route.id);
    const wanted = route.scopes.map((scope) => `"${scope}"`).join(' or ');
    log(
      `this key may not ${uses[route.id] ?? route.id}: it needs the scope ${wanted}; svc host enroll makes such a key`,
    );
    return response;
  };
}

/** Whether a call was refused for want of a scope: `sayRefusals` has said so. */
export function lacksScope(failure: unknown): boolean {
  if (!(failure instanceof SvcError) || failure.status !== 403) return false;
  return Array.isArray(failure.details?.['scopes']) || failure.message.startsWith('this key lacks the scope');
}
