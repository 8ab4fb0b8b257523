import { methodsOf, type Route } from '@svc/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bearerKey, checkAccess, invalidApiKey } from './access.ts';
import { type Actor, Context, type Kernel } from './context.ts';
import { ApiError, badRequest, toApiError } from './errors.ts';
import { Answer, Download, type Feature, type Operation } from './feature.ts';
import { Frames } from './frames.ts';
import { acceptAnything, acceptUploads, checkRequestId } from './http.ts';
import { checkIdempotencyKey, once, type StoredResponse } from './idempotency.ts';
import { parseInput } from './input.ts';
import { rateHeaders, rateLimitExceeded, type RateState } from './limits.ts';
import type { EventStream } from './sse.ts';

/** What the kernel asks of features on every authenticated request. */
export interface Gate {
  /** The caller behind a key's text; undefined when it is not valid now. */
  authenticate(keyText: string): Actor | undefined | Promise<Actor | undefined>;
  /** Registers or refreshes a device on use (document 1, Shared request headers). */
  touchDevice(accountId: string, device: { id: string; name?: string; platform?: string }): void | Promise<void>;
  /** True while the gateway takes no new requests. */
  isDraining(): boolean;
}

const requestLimit = 'requests';

/**
 * Registers every operation of the features. A request passes, in order: key (401), subscription (402), scopes (403),
 * rate (429), body and its schema (400), device, idempotency, the operation, the response schema.
 */
export function mount(app: FastifyInstance, kernel: Kernel, gate: Gate, features: readonly Feature[]): void {
  for (const feature of features) {
    for (const [verb, operation] of Object.entries(feature.operations)) {
      const { name, headers } = feature;
      const mounted = { feature: name, id: `${name}.${verb}`, operation, ...(headers && { headers }) };
      const { rawBody, upload } = operation.route;
      if (rawBody === undefined && upload === undefined) mountOperation(app, kernel, gate, mounted);
      else {
        // A scope of its own: what it makes of a body must not reach other routes.
        void app.register((scope, _options, done) => {
          if (rawBody !== undefined) acceptAnything(scope, rawBody);
          else if (upload !== undefined) acceptUploads(scope, upload);
          mountOperation(scope, kernel, gate, mounted);
          done();
        });
      }
    }
  }
}

interface Mounted {
  feature: string;
  /** `operationId`. */
  id: string;
  operation: Operation;
  headers?: Readonly<Record<string, string>>;
}

/** The path as the router spells it. */
const urlOf = (route: Route): string =>
  (route.rest ? route.path.replace(/\{\w+\}$/, '*') : route.path).replace(/\{(\w+)\}/g, ':$1');

function mountOperation(app: FastifyInstance, kernel: Kernel, gate: Gate, mounted: Mounted): void {
  const { route } = mounted.operation;
  app.route({
    method: methodsOf(route),
    url: urlOf(route),
    config: { operationId: mounted.id },
    onRequest: (request, reply, done) => {
      if (mounted.headers) reply.headers(mounted.headers);
      if (route.cors) openToPages(route, request, reply);
      if (gate.isDraining() && !route.whileDraining) {
        reply.header('connection', 'close');
        const message = 'this gateway is shutting down; try again';
        done(new ApiError('unavailable', message, { headers: { 'retry-after': '1' } }));
      } else if (route.auth === 'open') done();
      else admit(kernel, gate, mounted, request, reply, done);
    },
    ...(route.auth === 'key' && { onResponse: (request, reply) => account(kernel, mounted.id, request, reply) }),
    handler: (request, reply) => answer(kernel, mounted, gate, request, reply),
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
  const limit = { name: requestLimit, perMinute: kernel.config.rates.requests };
  const withState = (state: RateState): void => {
    if (!state.allowed) throw rateLimitExceeded(requestLimit, state);
    const headers = rateHeaders(requestLimit, state);
    reply.raw.setHeader('ratelimit', headers['ratelimit'] as string);
    reply.raw.setHeader('ratelimit-policy', headers['ratelimit-policy'] as string);
  };
  const withActor = (actor: Actor | undefined): void | Promise<void> => {
    if (!actor) throw invalidApiKey();
    request.actor = actor;
    const { route } = mounted.operation;
    checkAccess(route.scope ?? mounted.feature, route, actor);
    const state = kernel.limiter.take(limit, actor.keyId);
    return state instanceof Promise ? state.then(withState) : withState(state);
  };
  try {
    const actor = gate.authenticate(bearerKey(request.headers.authorization, request.raw.url ?? ''));
    const admitted = actor instanceof Promise ? actor.then(withActor) : withActor(actor);
    if (admitted instanceof Promise) admitted.then(() => done(), done);
    else done();
  } catch (error) {
    done(error as Error);
  }
}

async function answer(
  kernel: Kernel,
  mounted: Mounted,
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { operation } = mounted;
  const { route } = operation;
  if (request.method === 'OPTIONS') return reply.code(204).send();
  if (route.auth === 'key') {
    checkRequestId(request);
    const device = deviceOf(request);
    if (device) {
      request.deviceId = device.id;
      const touched = gate.touchDevice((request.actor as Actor).accountId, device);
      if (touched) await touched;
    }
  }
  const input = parseInput(route, request);
  const frames = route.frames && wantsFrames(request) ? new Frames(reply, kernel.clock) : undefined;
  const context = new Context(kernel, request, reply, frames);
  if (operation.open) {
    await openStream(kernel, operation, context, input, reply);
    return reply;
  }
  if (frames) {
    await answerInFrames(kernel, mounted, frames, request, reply, () => execute(operation, context, input));
    return reply;
  }
  const response = await answerOnce(kernel, mounted, request, reply, () => execute(operation, context, input));
  if (response.body instanceof Download) return reply.headers(response.body.headers).send(response.body.body);
  reply.code(response.status);
  if (response.status === 204) return reply.send();
  if (route.plain) return reply.type('text/plain; charset=utf-8').send(String(response.body));
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(response.body));
}

const wantsFrames = (request: FastifyRequest): boolean =>
  request.headers.accept?.toLowerCase().includes('text/event-stream') === true;

async function answerInFrames(
  kernel: Kernel,
  mounted: Mounted,
  frames: Frames,
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<StoredResponse>,
): Promise<void> {
  try {
    const { body, replayed } = await answerOnce(kernel, mounted, request, reply, work);
    const all = mounted.operation.replay?.(body as never) ?? [];
    for (const frame of replayed ? all : all.slice(-1)) await frames.send(frame);
    frames.end();
  } catch (error) {
    if (!frames.started) throw error;
    const failure = toApiError(error);
    // The head is out: all that is left is to say so in a frame, and to tell the log why.
    if (failure !== error)
      kernel.log.error({ err: error, trace: request.traceId, route: mounted.id }, 'request failed');
    await frames.fail(failure);
  }
}

async function openStream(
  kernel: Kernel,
  operation: Operation,
  context: Context,
  input: unknown,
  reply: FastifyReply,
): Promise<void> {
  let stream: EventStream | undefined;
  const start = (): EventStream => {
    stream = kernel.streams.open(reply, reply.request.actor);
    return stream;
  };
  try {
    await operation.open?.(context, input as never, start);
  } catch (error) {
    if (!stream) throw error;
    // The head is out: all that is left is to end the stream, and to tell the log why.
    kernel.log.error({ err: error, trace: context.traceId }, 'stream failed');
    stream.destroy();
  }
}

async function execute(operation: Operation, context: Context, input: unknown): Promise<StoredResponse> {
  const result = await operation.run(context, input as never);
  if (result instanceof Download) return { status: 200, body: result };
  const { responses } = operation.route;
  const status = result instanceof Answer ? result.status : Number(Object.keys(responses)[0]);
  const schema = responses[status];
  if (!schema) throw new Error(`no response schema for ${status}`);
  const body: unknown = result instanceof Answer ? result.body : result;
  return { status, body: status === 204 ? undefined : schema.parse(body) };
}

/** Does the work, or answers what was stored for the request's `Idempotency-Key` where the route honours one. */
async function answerOnce(
  kernel: Kernel,
  mounted: Mounted,
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const key = mounted.operation.route.idempotent ? request.headers['idempotency-key'] : undefined;
  if (typeof key !== 'string') return { ...(await work()), replayed: false };
  checkIdempotencyKey(key);
  const { accountId } = request.actor as Actor;
  const { url, body } = request;
  const response = await once(kernel, { accountId, route: mounted.id, key, url, body }, work);
  if (response.replayed) reply.header('idempotency-replayed', 'true');
  return response;
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

function headerText(value: string | string[] | undefined): string | undefined {
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
  if (actor) {
    kernel.usage.record({
      at: kernel.clock.now(),
      accountId: actor.accountId,
      keyId: actor.keyId,
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
