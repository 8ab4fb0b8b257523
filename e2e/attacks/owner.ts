import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

/**
 * The owner beside a flood, in a thread of its own as on a machine of their own. In the flood's thread the head of a
 * request is sent when 440 MiB have been handed over, and a head that comes after 10 s is refused.
 */
const { url, key, rounds } = workerData as { url: string; key: string; rounds: number };
const authorization = `Bearer ${key}`;

for (let round = 0; round < rounds; round++) {
  const answer = await fetch(`${url}/v1/keys?limit=1`, { headers: { authorization } });
  assert.equal(answer.status, 200, await answer.text());
  const posted = await fetch(`${url}/v1/schedules/preview`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{"text":"daily at 9"}',
  });
  assert.equal(posted.status, 200, await posted.text());
  await delay(100);
}
