// Every operation that takes JSON, with the dearest body that it takes, 16 at once by an account that has thousands of
// everything: the longest turn of the gateway's loop, and how long a small request of another account takes meanwhile.
import { setTimeout as delay } from 'node:timers/promises';
import { Json } from '@svc/contract';
import { quotaNames } from '../apps/server/src/config.quotas.ts';
import {
  type ExampleRequest,
  exampleIds,
  prepareExample,
  routeOf,
  Scene,
  sendRequest,
} from '../apps/server/src/testing.examples.ts';
import { preparations } from '../apps/server/src/testing.preparations.ts';
import { startGateway } from '../apps/server/src/testing.ts';
import { dearestBody, type Document, refusedOf, withLess } from '../e2e/attacks/dearest.ts';
import { type Crowded, openCrowded } from './lib/crowded.ts';
import { type Burdened, burdens } from './lib/burdens.ts';
import { bench } from './lib/report.ts';

const flags = { copies: 2_500, times: 16, shown: 25 };
const mostTries = 12;
const patienceMs = 5_000;

await bench('dearest.writes', flags, async ({ copies, times, shown }, say) => {
  await using crowded = await openCrowded(copies, say);
  const { scene, url, target, world } = crowded;
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  // Makes what a write needs: an account that is full could have no more.
  const quotas = Object.fromEntries(quotaNames.map((name) => [`SVC_QUOTA_${name.toUpperCase()}`, '1000000000']));
  const role = { serves: true, works: false, relays: true };
  await using helper = await startGateway({ target }, { settings: { ...crowded.settings, ...quotas }, role });
  const rows: Burdened[] = [];
  const unmade: string[] = [];
  for (const id of exampleIds(false).filter((one) => routeOf(one).takes instanceof Json)) {
    await using own = new Scene(helper, scene.account, world.makers);
    say(id);
    const request = await Promise.race([
      prepareExample(own, id, preparations[id]).catch(() => undefined),
      // What waits for work that nobody does here.
      delay(patienceMs, undefined, { ref: false }),
    ]);
    if (request === undefined) {
      unmade.push(id);
      continue;
    }
    if (routeOf(id).only === 'login') await own.login();
    const dear = await accepted(own, id, { document, request, url });
    const bytes = JSON.stringify(dear.body ?? '').length;
    const ask = async (): Promise<void> => {
      const answer = await sendRequest(own, routeOf(id), dear, { url });
      await answer.arrayBuffer();
    };
    rows.push({ operation: id, kB: Math.round(bytes / 1_000), ...(await crowded.load(times, ask)) });
  }
  if (unmade.length > 0) say(`not prepared: ${unmade.join(', ')}`);
  return burdens(rows, shown);
});

/** The request with the dearest body that is taken; the last one that was refused where none is. */
async function accepted(
  scene: Scene,
  id: string,
  { document, request, url }: { document: Document; request: ExampleRequest; url: Crowded['url'] },
): Promise<ExampleRequest> {
  let body = dearestBody(document, id, request.body);
  for (let tries = 1; ; tries++) {
    const dear = { ...request, body } as ExampleRequest;
    const answer = await sendRequest(scene, routeOf(id), dear, { url });
    const text = await answer.text();
    if (answer.status !== 400 || tries === mostTries) return dear;
    body = withLess(body, request.body, refusedOf(text));
  }
}
