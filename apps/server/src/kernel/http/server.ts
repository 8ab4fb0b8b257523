import { UnreadAnswers } from './unread.ts';
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { withoutPartial } from '@svc/contract';
import fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { readNamedFile } from '../../config.handed.ts';
import { ConfigError } from '../../config.ts';
import { Bodies } from './bodies.ts';
import { ApiError, badRequest, toApiError } from '../base/errors.ts';
import { answerHalfClosed } from '../base/half-closed.ts';
import { guardConnections } from './connections.ts';
import { Doors } from './doors.ts';
import { checkHost, headsWithin } from './heads.ts';
import { askForBody, holdBody, type Patience, Refusals } from './leftover.ts';
import { refuseUnknown } from './nearest.ts';
import { bodyLimit, readJson } from './json-body.ts';
import { Sockets } from './sockets.ts';
import { NamedOrigins } from './origins.ts';
import { OneName } from './one-name.ts';
import { Share } from '../share/share.ts';
import { Spool } from './spool.ts';
import { version, versionHeader } from '../base/version.ts';
import type { Kernel } from '../kernel.ts';

const longestRequestId = 128;
/** Fields of a request that it does not begin with: named beforehand, all requests have one shape. */
const unsetFields = ['actor', 'deviceId', 'bodyHash', 'releaseBody', 'bodyBytes', 'givenType', 'isAccounted'] as const;

/**
 * The HTTP server with what every route shares: trace id, JSON bodies, and the error envelope for every failure, those
 * of the HTTP parser included.
 */
export function createHttp(kernel: Pick<Kernel, 'config' | 'dataDir' | 'log' | 'clock' | 'metrics'>): FastifyInstance {
  const { config, log, clock } = kernel;
  const refusals = new Refusals(clock);
  const [origins, name] = [new NamedOrigins(config.corsOrigins), new OneName(config)];
  const options: FastifyServerOptions = {
    bodyLimit,
    exposeHeadRoutes: false,
    // The graceful close is ours: it ends streams first, and answers 503 itself meanwhile.
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // The whole request must have come within this: 100 MiB at 120 kB/s. A slow reader of an answer is not affected.
    requestTimeout: 900_000,
    keepAliveTimeout: 75_000,
    routerOptions: { maxParamLength: 1_024 },
    // For `request.ip` alone: what a request says of its host and scheme is read nowhere.
    trustProxy: config.trustedProxies.length > 0 ? config.trustedProxies : false,
    frameworkErrors(_error, request, reply) {
      // No hook runs for a URL that cannot be routed.
      reply.raw.setHeader('x-svc-trace-id', traceIdOf(request)).setHeader(versionHeader, version);
      reply.raw.setHeaders(new Map(Object.entries(origins.headersFor(request.headers.origin))));
      void refusals.send(reply, badUrl());
    },
    clientErrorHandler,
  };
  const sockets = new Sockets(clock);
  const app = openServer(options, config.tls, sockets);
  app.decorate('sockets', sockets);
  decorate(app, kernel);
  app.addHook('onRequest', (request, reply, done) => {
    request.startedAt = clock.monotonic();
    request.traceId = traceIdOf(request);
    // On the reply: with headers on the raw answer Node takes the slow path of `writeHead`, 3 µs a request.
    reply.header('x-svc-trace-id', request.traceId).header(versionHeader, version);
    const isPreflight = origins.admit(request, reply);
    checkHost(request.raw, config.ownNames);
    if (isPreflight) void reply.code(204).send();
    else if (!name.sendOn(request, reply)) done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    request.releaseBody?.();
    done();
  });
  acceptJson(app);
  answerHalfClosed(app.server);
  guardConnections(app.server, { ...kernel, trustedProxies: config.trustedProxies });
  app.server.on('checkExpectation', refuseExpectation);
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    holdBody(request, response);
    app.server.emit('request', request, response);
  });
  refuseUnknown(app, refusals);
  app.setErrorHandler((error, request, reply) => {
    const failure = toApiError(error);
    if (failure.status >= 500 && failure !== error) {
      log.error(
        { err: error, trace: request.traceId, route: request.routeOptions.config.operationId },
        'request failed',
      );
    }
    return refusals.send(reply, failure);
  });
  return app;
}

/** Over TLS when there is a certificate. */
function openServer(
  options: FastifyServerOptions,
  tls: Kernel['config']['tls'],
  { shouldUpgrade: shouldUpgradeCallback }: Sockets,
): FastifyInstance {
  const http = { shouldUpgradeCallback, ...headsWithin };
  return tls
    ? fastify({ ...options, https: { ...http, ...pemsOf(tls) } } as FastifyServerOptions)
    : fastify({ ...options, http });
}

const pemsOf = ({ certFile, keyFile }: { certFile: string; keyFile: string }) => ({
  cert: readPem('SVC_TLS_CERT', certFile),
  key: readPem('SVC_TLS_KEY', keyFile),
});

function readPem(setting: string, file: string): Buffer {
  try {
    return readNamedFile(file);
  } catch {
    throw new ConfigError(`${setting}: cannot read ${file}`);
  }
}

/** The client's correlation id, or a fresh one. */
function traceIdOf(request: FastifyRequest): string {
  const given = request.headers['x-request-id'] as string | undefined;
  return given !== undefined && isRequestId(given) ? given : randomUUID();
}

/** A client's correlation id is 1 to 128 visible characters (document 1; design: kernel). */
function isRequestId(value: string): boolean {
  return value.length >= 1 && value.length <= longestRequestId && /^[\x20-\x7e\x80-\xff]+$/.test(value);
}

/** 400 for an `x-request-id` that cannot be echoed; checked after the key, as every 400. */
export function checkRequestId(request: FastifyRequest): void {
  const given = request.headers['x-request-id'] as string | undefined;
  // An empty one is as good as none.
  if (given && !isRequestId(given)) {
    const message = `must have 1 to ${longestRequestId} characters and no control characters`;
    throw badRequest(`x-request-id ${message}`, { 'x-request-id': [message] });
  }
}

const badUrl = (): ApiError =>
  badRequest('the URL is malformed, or a part of its path is over 1,024 characters; check its percent encoding');

function decorate(
  app: FastifyInstance,
  { config, dataDir, clock }: Pick<Kernel, 'config' | 'dataDir' | 'clock'>,
): void {
  app.decorateRequest('traceId', '');
  for (const name of unsetFields) app.decorateRequest(name, undefined);
  app.decorateRequest('startedAt', 0);
  const spool = new Spool(join(dataDir, 'spool'), config.bodies.diskBytes);
  app.decorate('doors', Doors.of(app));
  app.decorate('bodies', new Bodies(clock, config.bodies, spool));
  app.decorate('unread', new UnreadAnswers(clock));
  app.decorate('long', new Share({ total: 4, ofOne: 1, waitingOfOne: 256 }));
}

/** JSON only. */
function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request: FastifyRequest, payload: IncomingMessage, done) =>
    readJson(app.bodies, request, payload, done),
  );
}

/**
 * Bodies of any content type, or of none, in this scope: the first `most` bytes are kept, to the edge of a character,
 * and the rest is read past. A longer one than any request may have is answered before its end: what a job says counts,
 * however much it prints.
 */
export function acceptAnything(scope: FastifyInstance, most: number): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (request, payload, done) => {
    askForBody(request.raw);
    scope.bodies.watch(payload);
    const kept: Buffer[] = [];
    let length = 0;
    let answered = false;
    const answer = (error: Error | null): void => {
      if (answered) return;
      answered = true;
      const bytes = Buffer.concat(kept);
      done(error, length > most ? withoutPartial(bytes) : bytes);
    };
    payload.on('data', (chunk: Buffer) => {
      if (length < most) kept.push(chunk.subarray(0, most - length));
      length += chunk.length;
      if (length > bodyLimit) answer(null);
    });
    payload.on('error', answer);
    payload.on('end', () => answer(null));
  });
  keepContentType(scope);
}

/** Takes any content type, valid or not. */
function keepContentType(scope: FastifyInstance): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] !== undefined) {
      request.givenType = request.headers['content-type'];
      request.raw.headers['content-type'] = 'application/octet-stream';
    }
    done();
  });
}

/** Bodies of any content type in this scope come to the handler unread, and fail past `most` bytes. */
export function acceptUploads(scope: FastifyInstance, most: number): void {
  const tooLarge = (): ApiError =>
    new ApiError('payload_too_large', `the body is over ${most / 1024 / 1024} MiB; send a smaller one`);
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { bodyLimit: Number.MAX_SAFE_INTEGER }, (request, payload, done) => {
    if (Number(request.headers['content-length'] ?? 0) > most) {
      done(tooLarge());
      return;
    }
    askForBody(request.raw);
    scope.bodies.watch(payload);
    let length = 0;
    const limited = new Transform({
      transform(chunk: Buffer, _encoding, next) {
        length += chunk.length;
        if (length > most) next(tooLarge());
        else next(null, chunk);
      },
    });
    // The one that reads hears of it; nobody reads after a refusal.
    limited.on('error', () => {});
    payload.on('error', (error) => limited.destroy(error));
    payload.on('aborted', () =>
      limited.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET', statusCode: 400 })),
    );
    done(null, payload.pipe(limited));
  });
  // An unread rest of a body would be read as the connection's next request.
  scope.addHook('onResponse', ({ raw }, _reply, done) => {
    if (!raw.complete) raw.unpipe().resume();
    done();
  });
  keepContentType(scope);
}

/** `Expect` other than `100-continue`: Node would answer 417 without a body. */
function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(badRequest('the expectation of the Expect header cannot be met').envelope());
  response.setHeader('x-svc-trace-id', randomUUID()).setHeader(versionHeader, version);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) };
  response.writeHead(400, headers).end(body);
}

/** Answers requests that Node's parser refuses: they reach no route, so the envelope is written by hand. */
function clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  // Nothing was asked: a proxy would take an answer for that to its next request.
  if (isLate && socket.bytesRead === 0) {
    socket.end();
    return;
  }
  const message =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'the request headers are over 16 kB'
      : isLate
        ? 'the request took too long to come'
        : 'the request is not valid HTTP';
  const status = isLate ? 408 : 400;
  const body = JSON.stringify(badRequest(message).envelope());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `x-svc-trace-id: ${randomUUID()}\r\n${versionHeader}: ${version}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

declare module 'fastify' {
  interface FastifyInstance {
    bodies: Bodies;
    doors: Doors;
    unread: UnreadAnswers;
    /** Turns of those that make long answers. */
    long: Share;
  }
  interface FastifyRequest {
    /** The content type that a client named, where any is taken. */
    givenType?: string;
  }
  interface FastifyContextConfig {
    operationId?: string;
    /** Fields beside `error` in every failure. */
    errorsBeside?: Readonly<Record<string, unknown>>;
    /** The operation needs the bytes of its body. */
    keepsBody?: boolean;
    /** Any page may call it, and it answers preflights by itself. */
    isOpenToPages?: boolean;
    /** With a body that is refused; as for most routes if undefined. */
    patience?: Patience;
  }
}
