import type { FastifyInstance } from 'fastify';

/** Methods of a path that some protocol wants refused in words of its own: 405, where the router would say 404. */
export interface RefusedMethods {
  url: string;
  /** The methods that the path takes. */
  allow: string;
  methods: readonly ('GET' | 'DELETE')[];
  body: object;
}

/** Refuses them. */
export function refuseMethods(http: FastifyInstance, { url, allow, methods, body }: RefusedMethods): void {
  http.route({ method: [...methods], url, handler: (_, reply) => reply.code(405).header('allow', allow).send(body) });
}
