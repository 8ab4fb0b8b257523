import type { FastifyInstance } from 'fastify';

export const htmlType = 'text/html; charset=utf-8';
export const scriptType = 'text/javascript; charset=utf-8';
export const textType = 'text/plain; charset=utf-8';
export const styleType = 'text/css; charset=utf-8';

/** The page at an open URL: a text, or a file that is read at each request. */
interface Page {
  type: string;
  body: string | (() => Promise<Buffer | string>);
  /** Content-Security-Policy. */
  policy?: string;
}

/** Serves an open page, to HEAD too. */
export function servePage(app: FastifyInstance, url: string, { type, body, policy }: Page): void {
  app.route({
    method: ['GET', 'HEAD'],
    url,
    async handler(_request, reply) {
      reply.type(type).header('x-content-type-options', 'nosniff');
      if (policy !== undefined) reply.header('content-security-policy', policy);
      return reply.send(typeof body === 'string' ? body : await body());
    },
  });
}
