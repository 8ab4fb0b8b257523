import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './openapi.ts';

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
  defaultModelsExpandDepth: 0, validatorUrl: null, tagsSorter: 'alpha'
});
`;

/** Nothing from elsewhere, no inline script; `data:` images are the page's own icons. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'";

/** Serves `/openapi.json` and the reference page at `/docs`, both open. */
export function mountReference(app: FastifyInstance): void {
  const document = JSON.stringify(openApiDocument());
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(document));
  app.get('/docs', (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', policy).send(page),
  );
  app.get('/docs/start.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(start));
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  for (const [url, { file, type }] of Object.entries(assets)) {
    app.get(url, async (_request, reply) => reply.type(type).send(await readFile(join(folder, file))));
  }
}
