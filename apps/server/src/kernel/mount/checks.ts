import type { Route } from '@svc/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bearerKey, checkCaller, checkFresh, invalidApiKey, refuseKeyInQuery } from './access.ts';
import { loginOf } from './browsers.ts';
import { challenged, metadataUrl } from './challenge.ts';
import { deviceOf } from './device.ts';
import type { Actor } from '../base/actor.ts';
import type { Kernel } from '../kernel.ts';
import { ApiError } from '../base/errors.ts';
import type { Feature, Operation } from '../feature.ts';
import { checkRequestId } from '../http/server.ts';
import { keyInProtocols } from '../http/sockets.ts';
import { type RateState, rateHeaders, rateLimitExceeded, requestsOf, requestsOfAccount } from '../share/limits.ts';

/** The questions that the kernel asks features on every authenticated request. */
export interface Gate {
  /** The caller behind the text of a key, or of a token where the route takes tokens; undefined if it is not valid. */
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

/** An operation at its route. */
export interface Mounted {
  feature: Feature;
  /** `operationId`. */
  id: string;
  operation: Operation;
}

/** A request on its way to its operation. */
interface Call {
  readonly kernel: Kernel;
  readonly gate: Gate;
  readonly mounted: Mounted;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Lets a request pass, or throws its refusal. Without a promise where it can: these run on every request. */
type Check = (call: Call) => void | Promise<void>;

/**
 * What a request passes: the order in which the checks stand is the order in which they refuse (document 1, Errors;
 * design: kernel, Order of checks). After them come its fields (400) and its `Idempotency-Key` (409, 422).
 */
const checks = {
  /** Before its body is read. */
  beforeBody: [
    isServing, // 503 unavailable
    keepsKeyOutOfAddress, // 401 invalid_api_key
    isKnown, // 401 invalid_api_key
    mayCall, // 403 account_suspended, 402, 403 kind, scope and tool level, 429 spend cap, 403 of the feature
    isFresh, // 403 reauth_required
    keepsToRate, // 429 rate_limit_exceeded
  ],
  /** Once its body is read. */
  beforeOperation: [
    hasRequestId, // 400 bad_request
    hasGateway, // 503 unavailable
    hasDevice, // 400 bad_request, 429 quota_exceeded
  ],
} satisfies Record<string, readonly Check[]>;

/** Those of a route. One that is open to everybody has no caller to look at. */
export const checksOf = ({ auth }: Pick<Route, 'auth'>): Record<keyof typeof checks, readonly Check[]> =>
  auth === 'open' ? { beforeBody: [isServing], beforeOperation: [] } : checks;

/** Takes a request through checks; settles at once where none of them waits. */
export function passed(list: readonly Check[], call: Call, from = 0): Promise<void> | undefined {
  for (let n = from; n < list.length; n += 1) {
    const waits = list[n]?.(call);
    if (waits instanceof Promise) return waits.then(() => passed(list, call, n + 1));
  }
  return undefined;
}

/** The same for a hook of the server, which is given the refusal. */
export function pass(list: readonly Check[], call: Call, done: (refusal?: Error) => void): void {
  const refuse = (refusal: Error): void => done(told(call, refusal));
  let waits: Promise<void> | undefined;
  try {
    waits = passed(list, call);
  } catch (error) {
    return refuse(error as Error);
  }
  if (waits) waits.then(() => done(), refuse);
  else done();
}

/** Of a route for access tokens a client learns from the refusal where it gets one. */
function told({ kernel, mounted, request }: Call, refusal: Error): Error {
  if (mounted.operation.route.accessTokens !== 'mcp') return refusal;
  const metadata = metadataUrl(kernel.config, request.headers);
  return challenged(refusal, request.actor, { metadata, hadKey: request.headers.authorization !== undefined });
}

function isServing({ gate, mounted, reply }: Call): void {
  if (!gate.isDraining() || mounted.operation.route.whileDraining) return;
  reply.header('connection', 'close');
  throw new ApiError('unavailable', 'this gateway is shutting down; try again', { headers: { 'retry-after': '1' } });
}

function keepsKeyOutOfAddress({ request }: Call): void {
  refuseKeyInQuery(request.raw.url ?? '');
}

function isKnown({ gate, mounted, request }: Call): void | Promise<void> {
  const { route } = mounted.operation;
  const given = credentialOf(route, request);
  const isSocket = route.answers.kind === 'socket';
  const login = given === undefined ? loginOf(request, request.server.ownOrigins, isSocket) : undefined;
  const withActor = (actor: Actor | undefined): void => {
    // A cookie that counts no more is no guess: browsers send it until it is replaced.
    if (!actor && login !== undefined) throw invalidApiKey('you are signed out; sign in again');
    if (!actor) throw request.server.strangers.refuse(request.ip, invalidApiKey());
    request.actor = actor;
  };
  request.credential = login ?? bearerKey(given);
  const actor =
    login === undefined ? gate.authenticate(request.credential, route) : gate.authenticateLogin(login, route);
  return actor instanceof Promise ? actor.then(withActor) : withActor(actor);
}

/** The `Authorization` header, or what the route takes in its place: another header, or a protocol of a WebSocket. */
function credentialOf({ keyHeader, answers }: Route, { headers, raw }: FastifyRequest): string | undefined {
  const { authorization } = headers;
  const inHeader = keyHeader === undefined ? undefined : headers[keyHeader];
  const given = answers.kind === 'socket' ? keyInProtocols(raw) : inHeader;
  return authorization === undefined && typeof given === 'string' ? `Bearer ${given}` : authorization;
}

function mayCall({ mounted, request }: Call): void {
  checkCaller(mounted.feature, mounted.operation.route, request.actor as Actor);
}

function isFresh({ kernel, mounted, request }: Call): void {
  const { freshWithin } = mounted.operation.route;
  if (freshWithin !== undefined) checkFresh(request.actor as Actor, kernel.clock.now(), freshWithin);
}

function keepsToRate({ kernel, request, reply }: Call): void | Promise<void> {
  const { limiter, config } = kernel;
  const { credentialId, accountId } = request.actor as Actor;
  const limit = requestsOf(config.rates);
  const ofAccount = requestsOfAccount(config.rates);
  const withStates = (own: RateState, all: RateState): void => {
    if (!own.allowed) throw rateLimitExceeded(limit.name, own);
    reply.headers(rateHeaders(limit.name, own));
    if (!all.allowed) throw rateLimitExceeded(ofAccount.name, all);
  };
  const [own, all] = [limiter.take(limit, credentialId), limiter.take(ofAccount, accountId)];
  if (own instanceof Promise || all instanceof Promise)
    return Promise.all([own, all]).then((states) => withStates(...states));
  return withStates(own, all);
}

function hasRequestId({ request }: Call): void {
  checkRequestId(request);
}

/** A process that was frozen must not trust its memory: others may have taken it for dead. */
function hasGateway({ kernel: { gateways } }: Call): void | Promise<void> {
  return gateways.isProven() ? undefined : gateways.prove();
}

function hasDevice({ gate, request }: Call): void | Promise<void> {
  const device = deviceOf(request);
  if (!device) return;
  request.deviceId = device.id;
  return gate.touchDevice((request.actor as Actor).accountId, device);
}
