import { methodsOf, type Route } from '@svc/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ownOrigins } from './browsers.ts';
import { answer } from './answer.ts';
import { checksOf, type Gate, type Mounted, pass, passed } from './checks.ts';
import { onBehalfOf, strangers } from '../db/fair.ts';
import type { Kernel } from '../kernel.ts';
import { type Feature, type Role, wholeRole } from '../feature.ts';
import { patienceForFiles } from '../http/leftover.ts';
import { acceptAnything, acceptUploads } from '../http/server.ts';
import { mountSockets } from '../http/sockets.ts';
import { mountRaw } from './raw.ts';
import { Strangers } from './strangers.ts';

/**
 * Registers every operation of the features. `checks.ts` has what a request passes, in its order; `answer.ts` reads its
 * fields, runs the operation and answers. Routes that the role of this process does not answer are left out.
 */
export function mount(
  app: FastifyInstance,
  kernel: Kernel,
  gate: Gate,
  features: readonly Feature[],
  role: Role = wholeRole,
): void {
  app.decorate('strangers', new Strangers(kernel));
  app.decorate('ownOrigins', ownOrigins(kernel.config));
  mountSockets(app);
  for (const feature of features) {
    for (const raw of (feature.raw ?? []).filter((one) => isAnsweredBy(role, one)))
      mountRaw(app, kernel, () => gate.isDraining(), {
        ...raw,
        prefix: pathOf({ ...raw, path: raw.prefix }, kernel.config),
      });
    for (const [verb, operation] of Object.entries(feature.operations)) {
      const mounted: Mounted = { feature, id: `${feature.name}.${verb}`, operation };
      const { takes } = operation.route;
      if (!isAnsweredBy(role, operation.route)) continue;
      if (takes === undefined || takes.kind === 'json') mountOperation(app, kernel, gate, mounted);
      else {
        // A scope of its own: what it makes of a body must not reach other routes.
        void app.register((scope, _options, done) => {
          if (takes.kind === 'anything') acceptAnything(scope, takes.kept);
          else acceptUploads(scope, takes.most);
          mountOperation(scope, kernel, gate, mounted);
          done();
        });
      }
    }
  }
}

const isAnsweredBy = ({ serves, relays }: Role, { at }: Pick<Route, 'at'>): boolean =>
  at === 'everywhere' || (at === 'relay' ? relays : serves);

/** The path at which a route is reached. A proxy may give relays a name of their own, or a path below that of gateways. */
const pathOf = ({ at, path }: Pick<Route, 'at' | 'path'>, { relayUrl }: Kernel['config']): string =>
  at === 'relay' ? `${new URL(relayUrl).pathname.replace(/\/$/, '')}${path}` : path;

/** A path as the router spells it. */
const urlOf = (path: string): string => path.replace(/\{\w+\*\}$/, '*').replace(/\{(\w+)\}/g, ':$1');

function mountOperation(app: FastifyInstance, kernel: Kernel, gate: Gate, mounted: Mounted): void {
  const { route } = mounted.operation;
  const path = pathOf(route, kernel.config);
  const { beforeBody, beforeOperation } = checksOf(route);
  if (route.answers.kind === 'socket') app.sockets.add(path);
  app.route({
    method: methodsOf(route),
    url: urlOf(path),
    config: {
      operationId: mounted.id,
      keepsBody: route.verbatim ?? false,
      isOpenToPages: route.cors ?? false,
      ...(mounted.feature.errorsBeside && { errorsBeside: mounted.feature.errorsBeside }),
      ...(route.takes?.kind === 'bytes' && { patience: patienceForFiles }),
      ...(route.answers.kind === 'socket' && { protocols: route.answers.protocols }),
    },
    onRequest: (request, reply, done) => {
      if (mounted.feature.headers) reply.headers(mounted.feature.headers);
      if (route.cors) openToPages(route, request, reply);
      pass(beforeBody, { kernel, gate, mounted, request, reply }, done);
    },
    ...(route.auth === 'key' && { onResponse: (request, reply) => account(kernel, mounted.id, request, reply) }),
    handler: (request, reply) =>
      onBehalfOf(request.actor?.accountId ?? strangers, async () => {
        if (request.method === 'OPTIONS' && route.cors) return reply.code(204).send();
        await passed(beforeOperation, { kernel, gate, mounted, request, reply });
        return answer({ kernel, id: mounted.id, operation: mounted.operation, request, reply });
      }),
  });
}

/** For answers to any page, refusals among them. */
function openToPages(route: Route, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*').header('cache-control', 'no-store');
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', methodsOf(route).join(', '));
  reply.header('access-control-allow-headers', '*').header('access-control-max-age', '86400');
}

/** Usage and metrics of an answered request. */
function account(kernel: Kernel, operationId: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const ms = kernel.clock.monotonic() - request.startedAt;
  kernel.metrics.requestDone(operationId, reply.statusCode, ms / 1000);
  const { actor } = request;
  if (actor && !request.isAccounted) {
    kernel.usage.record({
      at: kernel.clock.now(),
      accountId: actor.accountId,
      keyId: actor.keyId,
      loginId: actor.kind === 'login' ? actor.credentialId : undefined,
      deviceId: request.deviceId,
      route: operationId,
      status: reply.statusCode,
      bytes: Number(reply.getHeader('content-length') ?? 0),
      ms: Math.round(ms),
      costMicroUsd: 0,
      traceId: request.traceId,
    });
  }
  return done;
}

const done = Promise.resolve();

declare module 'fastify' {
  interface FastifyInstance {
    strangers: Strangers;
    ownOrigins: ReadonlySet<string>;
  }
  interface FastifyRequest {
    /** The text of the key, token or login that the caller shows. */
    credential: string | undefined;
  }
}
