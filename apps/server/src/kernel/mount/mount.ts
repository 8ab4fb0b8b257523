import { methodsOf, type Route } from '@svc/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerKey, checkCaller, checkFresh, invalidApiKey, refuseKeyInQuery } from './access.ts';
import { loginOf, ownOrigins } from './browsers.ts';
import { challenged, metadataUrl } from './challenge.ts';
import { answer } from './answer.ts';
import { onBehalfOf, strangers } from '../db/fair.ts';
import type { Actor } from '../base/actor.ts';
import type { Kernel } from '../kernel.ts';
import { ApiError, badRequest } from '../base/errors.ts';
import { type Feature, type Operation, type Role, wholeRole } from '../feature.ts';
import { patienceForFiles } from '../http/leftover.ts';
import { acceptAnything, acceptUploads, checkRequestId } from '../http/server.ts';
import { keyInProtocols, mountSockets } from '../http/sockets.ts';
import { mountRaw } from './raw.ts';
import { Strangers } from './strangers.ts';
import { type RateState, rateHeaders, rateLimitExceeded, requestsOf, requestsOfAccount } from '../share/limits.ts';

/** The questions that the kernel asks features on every authenticated request. */
export interface Gate {
  /** The caller behind the text of a key, or of a token where the route takes tokens; undefined when it is not valid now. */
  authenticate(
    text: string,
    route: Pick<Route, 'tokenScope' | 'accessTokens'>,
  ): Actor | undefined | Promise<Actor | undefined>;
  /** The same behind the cookie of a login. */
  authenticateLogin(text: string, route: Pick<Route, 'isUnattended'>): Actor | undefined | Promise<Actor | undefined>;
  /** Registers or refreshes a device on use (document 1, Shared request headers). */
  touchDevice(accountId: string, device: { id: string; name?: string; platform?: string }): void | Promise<void>;
  /** True while the gateway takes no new requests. */
  isDraining(): boolean;
}

/**
 * Registers every operation of the features. A request passes, in order: key (401), suspended account (403), subscription (402), scopes (403),
 * spend cap (429), the feature's gate (403), rate (429), body and its schema (400), device, idempotency, the operation,
 * the response schema. Routes that the role of this process does not answer are left out.
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

interface Mounted {
  feature: Feature;
  /** `operationId`. */
  id: string;
  operation: Operation;
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
      if (gate.isDraining() && !route.whileDraining) {
        reply.header('connection', 'close');
        const message = 'this gateway is shutting down; try again';
        done(new ApiError('unavailable', message, { headers: { 'retry-after': '1' } }));
      } else if (route.auth === 'open') done();
      else if (route.accessTokens !== 'mcp') admit(kernel, gate, mounted, request, reply, done);
      else {
        const metadata = metadataUrl(kernel.config, request.headers);
        const hadKey = request.headers.authorization !== undefined;
        admit(kernel, gate, mounted, request, reply, (error) =>
          done(error && challenged(error, request.actor, { metadata, hadKey })),
        );
      }
    },
    ...(route.auth === 'key' && { onResponse: (request, reply) => account(kernel, mounted.id, request, reply) }),
    handler: (request, reply) =>
      onBehalfOf(request.actor?.accountId ?? strangers, () => respond(kernel, mounted, gate, request, reply)),
  });
}

/** For answers to any page, refusals among them. */
function openToPages(route: Route, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*').header('cache-control', 'no-store');
  if (request.method !== 'OPTIONS') return;
  reply.header('access-control-allow-methods', methodsOf(route).join(', '));
  reply.header('access-control-allow-headers', '*').header('access-control-max-age', '86400');
}

/** Key, subscription, scopes and rate. Without a promise while all of it is cached: this runs on every request. */
function admit(
  kernel: Kernel,
  gate: Gate,
  mounted: Mounted,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const { limiter, config, clock } = kernel;
  let isLogin = false;
  const limit = requestsOf(config.rates);
  const ofAccount = requestsOfAccount(config.rates);
  const checkAccount = (state: RateState): void => {
    if (!state.allowed) throw rateLimitExceeded(ofAccount.name, state);
  };
  const withState = (state: RateState): void => {
    if (!state.allowed) throw rateLimitExceeded(limit.name, state);
    reply.headers(rateHeaders(limit.name, state));
  };
  const withActor = (actor: Actor | undefined): void | Promise<void> => {
    // A cookie that counts no more is no guess: browsers send it until it is replaced.
    if (!actor && isLogin) throw invalidApiKey('you are signed out; sign in again');
    if (!actor) throw request.server.strangers.refuse(request.ip, invalidApiKey());
    request.actor = actor;
    const { route } = mounted.operation;
    checkCaller(mounted.feature, route, actor);
    if (route.freshWithin !== undefined) checkFresh(actor, clock.now(), route.freshWithin);
    const [own, all] = [limiter.take(limit, actor.credentialId), limiter.take(ofAccount, actor.accountId)];
    if (own instanceof Promise || all instanceof Promise)
      return Promise.all([own, all]).then(([one, other]) => (withState(one), checkAccount(other)));
    withState(own);
    checkAccount(all);
  };
  try {
    const { route } = mounted.operation;
    refuseKeyInQuery(request.raw.url ?? '');
    const given = credentialOf(route, request);
    const isSocket = route.answers.kind === 'socket';
    const login = given === undefined ? loginOf(request, request.server.ownOrigins, isSocket) : undefined;
    isLogin = login !== undefined;
    request.credential = login ?? bearerKey(given);
    const actor =
      login === undefined ? gate.authenticate(request.credential, route) : gate.authenticateLogin(login, route);
    const admitted = actor instanceof Promise ? actor.then(withActor) : withActor(actor);
    if (admitted instanceof Promise) admitted.then(() => done(), done);
    else done();
  } catch (error) {
    done(error as Error);
  }
}

/** The `Authorization` header, or what the route takes in its place: another header, or a protocol of a WebSocket. */
function credentialOf({ keyHeader, answers }: Route, { headers, raw }: FastifyRequest): string | undefined {
  const { authorization } = headers;
  const inHeader = keyHeader === undefined ? undefined : headers[keyHeader];
  const given = answers.kind === 'socket' ? keyInProtocols(raw) : inHeader;
  return authorization === undefined && typeof given === 'string' ? `Bearer ${given}` : authorization;
}

async function respond(
  kernel: Kernel,
  mounted: Mounted,
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (request.method === 'OPTIONS' && mounted.operation.route.cors) return reply.code(204).send();
  if (mounted.operation.route.auth === 'key') {
    checkRequestId(request);
    if (!kernel.gateways.isProven()) await kernel.gateways.prove();
    const device = deviceOf(request);
    if (device) {
      request.deviceId = device.id;
      const touched = gate.touchDevice((request.actor as Actor).accountId, device);
      if (touched) await touched;
    }
  }
  return answer({ kernel, id: mounted.id, operation: mounted.operation, request, reply });
}

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const longestDeviceText = 120;

/** `x-svc-device` with its name and platform; header bytes are read as UTF-8 where they are (document 1). */
function deviceOf(request: FastifyRequest): { id: string; name?: string; platform?: string } | undefined {
  const id = request.headers['x-svc-device'];
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || !uuid.test(id)) {
    throw badRequest('x-svc-device must be a uuid', { 'x-svc-device': ['must be a uuid'] });
  }
  const name = headerText(request.headers['x-svc-device-name']);
  const platform = headerText(request.headers['x-svc-device-platform']);
  return { id: id.toLowerCase(), ...(name && { name }), ...(platform && { platform }) };
}

/** What a client calls itself in a header, as text; undefined when it is missing or there twice. */
export function headerText(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'latin1');
  const utf8 = bytes.toString('utf8');
  return (utf8.includes('\ufffd') ? value : utf8)
    .trim()
    .slice(0, longestDeviceText)
    .replace(/[\ud800-\udbff]$/, '')
    .toWellFormed();
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
