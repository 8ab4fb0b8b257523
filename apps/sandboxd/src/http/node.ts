import { template } from '@svc/contract';
import { turnRequest } from '@svc/sandboxd-api';
import { copyImage } from '../sandboxes/copies.ts';
import { readJson, type Route } from './route.ts';

export const nodeRoutes: Route[] = [
  { method: 'GET', path: '/v1/node', run: ({ node }) => node.status() },
  {
    method: 'POST',
    path: '/v1/turns',
    run: async ({ node, request }) => node.turns.take(await readJson(request, turnRequest)),
  },
  { method: 'POST', path: '/v1/scan', run: ({ node, request }) => node.parts.scanner.scan(request) },
];

export const imageRoutes: Route[] = [
  {
    method: 'GET',
    path: '/v1/images/{digest}/copy',
    async run({ node, values, response }) {
      response.setHeader('content-type', 'application/zstd');
      await copyImage(node.context, values['digest'] ?? '', response);
    },
  },
  {
    method: 'POST',
    path: '/v1/images/{template}',
    async run({ node, values }) {
      const wanted = template.parse(values['template']);
      const built = node.parts.images.build(wanted);
      built.then(
        () => node.context.pool.refill(),
        (error: unknown) => node.parts.log('image', { err: error, template: wanted }),
      );
      return node.parts.images.status().find((status) => status.template === wanted);
    },
  },
];
