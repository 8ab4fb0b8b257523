// Bare Fastify with the one query of `GET /v1/devices` and nothing else: what the query alone leaves of bare Fastify.
import fastify from 'fastify';
import postgres from 'postgres';

const { socketDir, path } = JSON.parse(process.argv[2] || '{}') as { socketDir: string; path: string };
const sql = postgres({
  host: socketDir,
  port: 5432,
  user: 'svc',
  database: 'svc',
  max: 10,
  types: {
    instant: {
      to: 1184,
      from: [1184],
      parse: (value: string) => new Date(value).toISOString(),
      serialize: (value: string) => value,
    },
  },
});
const [device] = await sql`select account_id from devices.devices limit 1`;
const accountId = String(device?.['account_id']);
const app = fastify();
app.get(path, async () => ({
  devices: await sql`
    select id, name, platform, created_at, last_seen from devices.devices
    where account_id = ${accountId} order by last_seen desc, id`,
}));
const address = await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`port ${new URL(address).port}\n`);
