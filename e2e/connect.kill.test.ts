import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { person } from '../apps/server/src/features/auth/auth.testing.ts';
import { masterKey, openTest } from '../apps/server/src/testing.ts';
import { connectingClients } from './connect/clients.ts';
import { Machine, network } from './connect/machine.ts';
import { freePort, killAll, noSandboxes, start, temporaryFolder } from './platform.ts';

after(killAll);

/** The request at which a client is when the process dies: the first, or a later one, of a kind. */
interface Step {
  readonly path: RegExp;
  readonly count: number;
  /** It was not sent yet: what the process did last was to show the code. Else it was answered, and nobody heard it. */
  readonly isUnsent?: boolean;
}
const steps: Readonly<Record<string, Step>> = {
  register: { path: /\/register$/, count: 1 },
  authorize: { path: /\/token$/, count: 1, isUnsent: true },
  token: { path: /\/token$/, count: 1 },
  refresh: { path: /\/token$/, count: 2 },
  // One to look, before it has a token.
  use: { path: /\/mcp$/, count: 2 },
};

/** One address for several gateways: who connects reaches the one whose port this is. */
async function openFront() {
  const front = { base: '', port: 0, [Symbol.dispose]: () => void server.close() };
  const server = createServer((near) => {
    const far = connect(front.port, '127.0.0.1');
    near.on('error', () => far.destroy()).pipe(far);
    far.on('error', () => near.destroy()).pipe(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  front.base = `http://localhost:${(server.address() as AddressInfo).port}`;
  return front;
}

/** Stops each client at a step of its own, and lets it go on when it is told to. */
class Stop {
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();
  readonly #released = new Map<string, PromiseWithResolvers<void>>();

  /** Resolves when the client of this step is there. */
  reached(step: string): Promise<void> {
    return of(this.#reached, step).promise;
  }

  async hold(step: string): Promise<void> {
    of(this.#reached, step).resolve();
    await of(this.#released, step).promise;
  }

  release(step: string): void {
    of(this.#released, step).resolve();
  }
}

function of(all: Map<string, PromiseWithResolvers<void>>, step: string): PromiseWithResolvers<void> {
  const one = all.get(step) ?? Promise.withResolvers<void>();
  all.set(step, one);
  return one;
}

test('of five clients whose gateway dies by kill -9, each at another step of its way in, all come in; one whose code was answered unheard asks for another', async () => {
  using front = await openFront();
  const { base } = front;
  const settings = { SVC_BASE_URL: base, SVC_TRUSTED_PROXIES: '127.0.0.1' };
  await using t = await openTest({ settings });
  await using folder = temporaryFolder();
  const { target } = t.database;
  if (!('embedded' in target)) throw new Error('the tests use an embedded database');
  const { socketDir, user } = target.embedded;
  front.port = Number(new URL(t.gateway.url).port);
  const { browser } = await person(t, `${base}/auth`);
  let pages = 0;
  const letIn = browser.letIn.bind(browser);
  browser.letIn = (...words) => {
    pages += 1;
    return letIn(...words);
  };
  const port = await freePort();
  const dying = start(['up', '--only', 'gateway', '--port', String(port), '--data-dir', folder.path], {
    ...noSandboxes,
    ...settings,
    SVC_MASTER_KEY: masterKey,
    SVC_DATABASE_URL: `postgres://${user}@${encodeURIComponent(socketDir)}/${target.database}`,
  });
  await dying.printed(/svc is ready at/);
  front.port = port;

  const stop = new Stop();
  const client = connectingClients.find(({ name }) => name === 'Zed') ?? assert.fail();
  const ends = new Map<string, Promise<void>>();
  for (const [step, { path, count, isUnsent = false }] of Object.entries(steps)) {
    let seen = 0;
    const reached = stop.reached(step);
    const machine = new Machine(client, {
      documents: '',
      network: {
        base,
        async ask(method, url, asked) {
          using ways = network(
            base,
            () => Number(new URL(base).port),
            () => false,
          );
          const isIt = path.test(new URL(url).pathname) && (seen += 1) === count;
          if (isIt && isUnsent) await stop.hold(step);
          const answer = await ways.ask(method, url, asked);
          if (!isIt || isUnsent) return answer;
          assert.ok((answer?.status ?? 500) < 300, `${step}: ${answer?.status}`);
          await stop.hold(step);
          return undefined;
        },
      },
    });
    const goThrough = async (): Promise<void> => {
      await machine.connect(browser);
      const { refresh } = machine.stores[0] ?? assert.fail('no tokens');
      const again = (await machine.refreshWith(refresh)) ?? assert.fail(`${step}: asked to sign in`);
      assert.equal(await machine.list(again.access), 200, step);
      assert.equal(machine.signIns, 1, step);
    };
    const end = goThrough();
    ends.set(step, end);
    // One after the other to its step: they share a browser.
    assert.equal(await Promise.race([reached.then(() => 'there'), end]), 'there', step);
  }
  await dying.end('SIGKILL');
  front.port = Number(new URL(t.gateway.url).port);
  // One after the other again: some go through a page of it.
  for (const [step, end] of ends) {
    stop.release(step);
    await end;
  }
  // No answer to a code is given twice (RFC 6749, 4.1.2): of that step the browser, which is signed in, makes another.
  assert.equal(pages, ends.size + 1);
});
