// Bare Fastify: answers each path of the given JSON object `{ path: body }` with its body.
import fastify from 'fastify';

const bodies = JSON.parse(process.argv[2] || '{}') as Record<string, unknown>;
const app = fastify();
for (const [path, body] of Object.entries(bodies)) app.get(path, (_request, reply) => reply.send(body));
const address = await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`port ${new URL(address).port}\n`);
