import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { textType } from './pages.ts';

/** A program as it is served: one buffer for all who fetch it. */
interface Built {
  bytes: Buffer;
  /** In hex. */
  sha256: string;
}

/** A program that other machines fetch. */
interface Installable {
  readonly path: string;
  /** Media type. */
  readonly type: string;
  /** Builds it when it is first asked for. */
  built(): Promise<Built>;
}

/** Builds when it is first asked, and once; what failed is tried again. */
export function builtOnce(build: () => Promise<Buffer>): () => Promise<Built> {
  let built: Promise<Built> | undefined;
  return () =>
    (built ??= build()
      .then((bytes) => ({ bytes, sha256: createHash('sha256').update(bytes).digest('hex') }))
      .catch((error: unknown) => {
        built = undefined;
        throw error;
      }));
}

/** Serves a program and beside it its hash, as `sha256sum --check` reads it. */
export function mountInstall(app: FastifyInstance, program: Installable): void {
  const { path, type } = program;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const serve = (url: string, answered: string, body: (built: Built) => Buffer | string): void => {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      async handler(request, reply) {
        const built = await program.built();
        const tag = `"${built.sha256.slice(0, 32)}"`;
        reply.headers({ etag: tag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
        if (request.headers['if-none-match']?.split(/, */).includes(tag)) return reply.code(304).send();
        return reply.type(answered).send(body(built));
      },
    });
  };
  serve(path, type, ({ bytes }) => bytes);
  serve(`${path}.sha256`, textType, ({ sha256 }) => `${sha256}  ${name}\n`);
}
