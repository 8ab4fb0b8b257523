// Daemons of environments that report every 10 s, as many as its argument names: { url, key, environments: [{ id, deviceId }] }.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { TestDaemon } from '../../apps/server/src/features/relay/relay.testing.ts';

const everyMs = 10_000;
const { url, key, environments } = JSON.parse(readFileSync(String(process.argv[2]), 'utf8')) as {
  url: string;
  key: string;
  environments: { id: string; deviceId: string }[];
};

const daemons: TestDaemon[] = [];
for (const { id, deviceId } of environments) {
  const headers = { authorization: `Bearer ${key}`, 'x-svc-device': deviceId };
  daemons.push(new TestDaemon(`${url}/v1/environments/${id}/serve`, headers));
  await delay(3);
}
for (const [at, daemon] of daemons.entries()) {
  // Spread over the interval, as machines that were started at any time are.
  setTimeout(() => setInterval(() => daemon.tell(), everyMs), (everyMs / daemons.length) * at);
}
process.stdout.write(`port ${daemons.length}\n`);
