import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../base/errors.ts';
import type { RawRoute } from '../feature.ts';
import { askForBody } from '../http/leftover.ts';
import type { Kernel } from '../kernel.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Hands every request below a prefix to its feature, with its body unread; the shared checks of the server come first. */
export function mountRaw(
  app: FastifyInstance,
  kernel: Kernel,
  isDraining: () => boolean,
  { prefix, open, isPage = false, has = () => true }: RawRoute,
): void {
  if (!/^\/(?:.*\/)?$/.test(prefix) || prefix.startsWith('/v1/')) {
    throw new Error(`a raw route begins and ends with / and is not below /v1: ${prefix}`);
  }
  if (isPage && prefix !== '/') app.get(prefix.slice(0, -1), (_request, reply) => reply.redirect(prefix, 302));
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, next) => next(null));
    scope.route({
      method: [...methods],
      url: `${prefix}*`,
      handler: (request, reply) => {
        if (!has(restOf(request, prefix))) return reply.callNotFound();
        if (isDraining()) {
          const message = 'this gateway is shutting down; try again';
          throw new ApiError('unavailable', message, { headers: { 'retry-after': '1', connection: 'close' } });
        }
        return handOver(kernel, { prefix, open }, request, reply);
      },
    });
    done();
  });
}

const restOf = ({ url }: FastifyRequest, prefix: string): string =>
  (url.split('?', 1)[0] as string).slice(prefix.length);

async function handOver(
  kernel: Kernel,
  { prefix, open }: RawRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { raw: response } = reply;
  askForBody(request.raw);
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) response.setHeader(name, value);
  const { traceId, ip: address } = request;
  try {
    await open({ request: request.raw, response, rest: restOf(request, prefix), traceId, address, kernel });
  } catch (error) {
    // Whoever went away in the middle of a body needs no answer, and no line each.
    if (request.raw.destroyed && !request.raw.complete) return reply;
    kernel.log.error({ err: error, trace: traceId }, 'a request outside of the contract failed');
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end('unexpected fault; try again\n');
  }
  return reply;
}
