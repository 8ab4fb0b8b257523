// Bare Hono: answers each path of the given JSON object `{ path: body }` with its body.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

const bodies = JSON.parse(process.argv[2] || '{}') as Record<string, object>;
const app = new Hono();
for (const [path, body] of Object.entries(bodies)) app.get(path, (context) => context.json(body));
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.stdout.write(`port ${port}\n`));
