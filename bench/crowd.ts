// Every operation that reads, in an account that has thousands of everything, 16 at once: the longest turn of the gateway's loop,
// and how long a small request of another account takes meanwhile.
import { routeOf, sendRequest } from '../apps/server/src/testing.examples.ts';
import { openCrowded } from './lib/crowded.ts';
import { bench } from './lib/report.ts';
import { type Burdened, burdens } from './lib/burdens.ts';

const flags = { copies: 2_500, times: 16, shown: 15 };

await bench('crowd', flags, async ({ copies, times, shown }, say) => {
  await using crowded = await openCrowded(copies, say);
  const { scene, url, requests } = crowded;
  /** What is over by the time that it is asked for: the things were made on another clock. */
  const refused = new Set<string>();
  const rows: Burdened[] = [];
  for (const [id, request] of requests) {
    let bytes = 0;
    const ask = async (): Promise<void> => {
      const answer = await sendRequest(scene, routeOf(id), request, { url });
      bytes = (await answer.arrayBuffer()).byteLength;
      if (!answer.ok) refused.add(`${id} ${answer.status}`);
    };
    const { turn, wait } = await crowded.load(times, ask);
    rows.push({ operation: id, kB: Math.round(bytes / 1_000), turn, wait });
  }
  if (refused.size > 0) say(`not answered: ${[...refused].join(', ')}`);
  return burdens(rows, shown);
});
