import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../../testing.browser.ts';
import { openTest, startGateway, type TestGateway } from '../../testing.ts';
import { go, HubTest, withWorker } from './hub.testing.ts';

/** One address for several gateways, as a proxy gives them: it leads to one at a time. */
class Front implements AsyncDisposable {
  to = 0;
  readonly #open = new Set<Socket>();
  readonly #server = createServer((socket) => {
    const inner = connect(this.to, '127.0.0.1');
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      this.#open.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        this.#open.delete(one);
        other.destroy();
      });
    }
    socket.pipe(inner).pipe(socket);
  });

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Leads to another gateway from now on; what is open breaks, as when the one of before is killed. */
  lead({ url }: TestGateway): void {
    this.to = Number(new URL(url).port);
    for (const socket of this.#open) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await once(this.#server, 'close');
  }
}

describe('the hub behind two gateways', { skip: noBrowser }, () => {
  const front = new Front();
  let hub: HubTest;
  let other: TestGateway;

  before(async () => {
    const port = await front.listen();
    const settings = { SVC_BASE_URL: `http://localhost:${port}` };
    const t = await openTest({ settings });
    // Other settings are another worker, as another build is.
    other = await startGateway(t.database, { settings: { ...settings, SVC_PREVIEW_DOMAIN: 'previews.example' } });
    front.lead(t.gateway);
    hub = await HubTest.open({}, Object.assign(t, { port }));
  });
  after(async () => {
    // The database goes with the first one: what the other one has to write before it ends would find none, for
    // minutes.
    await other?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
  });

  test('one is gone: the other one goes on with the stream, and pixels follow without a list that is read anew', async () => {
    front.lead(hub.t.gateway);
    await using opened = await hub.person('en', 'phone');
    const { tab, make } = opened;
    const { id } = await make('/v1/heartbeats', { name: 'Before', period_s: 3600 });
    await go(tab, '/heartbeats');
    await tab.getByText('Before', { exact: true }).waitFor();
    const lists: string[] = [];
    tab.on('request', (request) => {
      if (/\/v1\/heartbeats(\?|$)/.test(request.url())) lists.push(request.url());
    });
    front.lead(other);
    await make(`/v1/heartbeats/${id}`, { name: 'After' }, 'PATCH');
    await tab.getByText('After', { exact: true }).waitFor();
    assert.deepEqual(lists, []);
  });

  test('a new build waits beside an open tab, which goes on, and Reload changes to it', {
    timeout: 900_000,
  }, async () => {
    front.lead(hub.t.gateway);
    await using opened = await hub.person('en', 'phone', withWorker);
    const { tab, words } = opened;
    await tab.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
    await tab.reload();
    await tab.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
    front.lead(other);
    await tab.evaluate('navigator.serviceWorker.getRegistration().then((one) => one.update()).then(() => undefined)');
    const strip = tab.locator('.strip.calm');
    await strip.getByText(words.states.newBuild).waitFor();
    // The tab goes on as it is.
    await tab.getByRole('link', { name: words.nav.heartbeats, exact: true }).locator('visible=true').first().click();
    await tab.getByRole('heading', { name: words.monitors.title, exact: true }).waitFor();
    const reloaded = tab.waitForEvent('load');
    await strip.getByRole('button', { name: words.states.reload, exact: true }).click();
    await reloaded;
    await tab.getByRole('heading', { name: words.monitors.title, exact: true }).waitFor();
    assert.equal(await strip.count(), 0);
  });
});
