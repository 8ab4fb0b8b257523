import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config.ts';
import { invalidApiKey } from './access.ts';
import { challenged, metadataUrl } from './challenge.ts';

/** Methods of a path that some protocol wants refused in words of its own: 405, where the router would say 404. */
export interface RefusedMethods {
  url: string;
  /** The methods that the path takes. */
  allow: string;
  methods: readonly ('GET' | 'HEAD' | 'DELETE')[];
  body: object;
}

/**
 * Refuses them. Who shows nothing is told first whom to ask for a token: clients look by such a request whether there is a
 * sign-in, before they send anything.
 */
export function refuseMethods(http: FastifyInstance, config: Config, refused: RefusedMethods): void {
  const { url, allow, methods, body } = refused;
  http.route({
    method: [...methods],
    url,
    handler({ headers }, reply) {
      if ((headers.authorization ?? '').trim() !== '') return reply.code(405).header('allow', allow).send(body);
      throw challenged(invalidApiKey(), undefined, { metadata: metadataUrl(config, headers), hadKey: false });
    },
  });
}
