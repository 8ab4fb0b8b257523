import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { htmlType, scriptType, servePage } from './pages.ts';

/** Files of the reference page, by URL. */
const assets: Record<string, { file: string; type: string }> = {
  '/docs/swagger-ui.css': { file: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  '/docs/swagger-ui-bundle.js': { file: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
};

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#reference', deepLinking: true, docExpansion: 'list',
  defaultModelsExpandDepth: 0, validatorUrl: null, tagsSorter: 'alpha',
  // It acts by the key in its form, never as whoever is signed in.
  requestInterceptor: (request) => Object.assign(request, { credentials: 'omit' })
});
`;

/** Nothing from elsewhere, no inline script; the reference's own styles are inline, its icons `data:`. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Serves `/openapi.json` and the reference page at `/docs`, both open. */
export function mountReference(app: FastifyInstance): void {
  servePage(app, '/openapi.json', { type: 'application/json; charset=utf-8', body: heldOnce(readDocument) });
  servePage(app, '/docs', { type: htmlType, body: page, policy });
  app.route({ method: ['GET', 'HEAD'], url: '/docs/', handler: (_, reply) => reply.redirect('/docs', 308) });
  servePage(app, '/docs/start.js', { type: scriptType, body: start });
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const [url, { file, type }] of Object.entries(assets)) {
    servePage(app, url, { type, body: heldOnce(() => readFile(join(folder, file))) });
  }
}

/** With all descriptions and examples, and 0.1 s of work: neither is loaded before somebody asks. */
async function readDocument(): Promise<Buffer> {
  const { openApiDocument } = await import('./openapi.ts');
  return Buffer.from(JSON.stringify(openApiDocument()));
}

/** One buffer for all who fetch it: it is 1.4 MB, and anybody may. A read that failed is tried again. */
function heldOnce(read: () => Promise<Buffer>): () => Promise<Buffer> {
  let held: Promise<Buffer> | undefined;
  return () =>
    (held ??= read().catch((error: unknown) => {
      held = undefined;
      throw error;
    }));
}
