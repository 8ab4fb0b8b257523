import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase, inTransaction } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, noSandboxes, type Running, start, temporaryFolder } from './platform.ts';
import { cloneOf, nextRelease, releaseBefore } from './releases.ts';

const settings = {
  ...noSandboxes,
  SVC_RATE_REQUESTS: '1000000',
  SVC_QUOTA_SESSIONS: '100000',
  SVC_QUOTA_MONITORS: '100000',
};
const perSecond = 50;
/** Requests that a step of the upgrade waits for. */
const enough = 50;

/** A release that runs on the data dir. */
interface Gateway extends Running {
  url: string;
  key: string;
}

async function startGateway(svc: string | undefined, dataDir: string): Promise<Gateway> {
  const running = start(['up', '--port', String(await freePort()), '--data-dir', dataDir], settings, svc);
  const [, url = ''] = await running.printed(/svc is ready at (\S+)/);
  const file = /^Your API key is in:\n {2}(.+)$/m.exec(running.output())?.[1];
  return { ...running, url, key: file === undefined ? '' : readFileSync(file, 'utf8').trim() };
}

/** Requests as callers behind a load balancer make them: half of them at each gateway, reads and writes. */
class Load {
  readonly failures: string[] = [];
  /** Requests that were answered, by the address of the gateway. */
  readonly served = new Map<string, number>();
  /** Repeats at another gateway. */
  again = 0;
  gateways: Gateway[] = [];
  readonly #key: string;
  readonly #over = new AbortController();
  readonly #open = new Set<Promise<void>>();
  #made = 0;
  #session = '';
  #monitor = '';

  constructor(gateways: Gateway[], key: string) {
    this.gateways = gateways;
    this.#key = key;
  }

  async begin(): Promise<void> {
    const session = (await this.#ask('POST', '/v1/sessions', { title: 'first' })) as { id: string };
    const monitor = (await this.#ask('POST', '/v1/heartbeats', { name: 'first', period_s: 3_600 })) as {
      ping_url: string;
    };
    this.#session = session.id;
    this.#monitor = new URL(monitor.ping_url).pathname;
    void this.#go();
  }

  /** Makes no more, and waits for what is under way. */
  async end(): Promise<number> {
    this.#over.abort();
    await Promise.all(this.#open);
    return this.#made;
  }

  get made(): number {
    return this.#made;
  }

  async #go(): Promise<void> {
    const begun = performance.now();
    while (!this.#over.signal.aborted) {
      // What a busy machine kept from being asked in time is asked at once.
      const due = ((performance.now() - begun) / 1_000) * perSecond;
      while (this.#made < due) {
        this.#made += 1;
        const asked = this.#one(this.#made).catch((error: unknown) => void this.failures.push(String(error)));
        this.#open.add(asked);
        void asked.finally(() => this.#open.delete(asked));
      }
      await delay(10);
    }
  }

  async #one(number: number): Promise<void> {
    const name = `n${number}`;
    const ways: (() => Promise<unknown>)[] = [
      () => this.#ask('GET', '/v1/devices'),
      () => this.#ask('PATCH', `/v1/sessions/${this.#session}`, { title: name }),
      () => this.#ask('GET', '/v1/heartbeats?limit=10'),
      () => this.#ask('POST', this.#monitor),
      () => this.#ask('GET', '/v1/events'),
      () => this.#ask('POST', '/v1/sessions', { title: name }),
      () => this.#ask('GET', '/v1/keys'),
      () => this.#ask('GET', '/v1/notifications?limit=5'),
      () => this.#ask('GET', '/v1/schedules?limit=5'),
      () => this.#ask('POST', '/v1/heartbeats', { name, period_s: 3_600 }),
    ];
    await ways[number % ways.length]?.();
  }

  /**
   * Asks a gateway, and the next one where the SDK would ask again: it does not listen, it says that it is shutting down, or it
   * closed a connection that was kept without a word. The only one is asked a second time. A repeat has the key of the
   * first, so that nothing is done twice.
   */
  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    // As they were when it began: one that leaves the list meanwhile would end the search for another.
    const { gateways } = this;
    const first = this.#made % gateways.length;
    const key = randomUUID();
    const begun = performance.now();
    const tries: string[] = [];
    const refused = (url: string, how: string): void => {
      this.again += 1;
      tries.push(`${how} of ${url} after ${Math.round(performance.now() - begun)} ms`);
    };
    for (let n = 0; n < Math.max(2, gateways.length); n += 1) {
      const { url } = gateways[(first + n) % gateways.length] as Gateway;
      const headers = {
        authorization: `Bearer ${this.#key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      };
      try {
        const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
        const text = await answer.text();
        if (answer.status === 503 && text.includes('shutting down')) {
          refused(url, '503');
          continue;
        }
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
        this.served.set(url, (this.served.get(url) ?? 0) + 1);
        return answer.headers.get('content-type')?.includes('json') ? (JSON.parse(text) as unknown) : text;
      } catch (error) {
        const { code } = ((error as Error).cause ?? {}) as { code?: string };
        const isUnanswered = ['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(code ?? '');
        if (!isUnanswered) throw new Error(`${method} ${path} at ${n}: ${code ?? String(error)}`, { cause: error });
        refused(url, code ?? '');
      }
    }
    throw new Error(`${method} ${path}: no gateway took it: ${tries.join(', ')}`);
  }
}

/** A transaction that reads what the migrations lock, for some time. */
async function reading(dataDir: string, tables: readonly string[], over: Promise<unknown>): Promise<void> {
  const embedded = findRunning(dataDir);
  assert.ok(embedded);
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  await inTransaction(sql, async (tx) => {
    for (const table of tables) await tx.unsafe(`select 1 from ${table} limit 1`);
    await over;
  });
  await sql.end({ timeout: 1 });
}

/** Migrates under load from one release to the next, and lets the gateways of the first end; answers the load that goes on. */
async function upgrade(
  dataDir: string,
  before: string | undefined,
  next: string | undefined,
  tables: readonly string[],
) {
  const [a, b] = [await startGateway(before, dataDir), await startGateway(before, dataDir)];
  const load = new Load([a, b], a.key);
  await load.begin();
  const answered = (at: Gateway, count: number) => until(() => (load.served.get(at.url) ?? 0) >= count);
  await answered(b, enough);
  const over = Promise.withResolvers<void>();
  const held = reading(dataDir, tables, over.promise);
  const migrating = start(['migrate', '--data-dir', dataDir], noSandboxes, next);
  if (tables.length > 0) {
    // It gives way to a long transaction, and the requests behind it pass.
    await migrating.printed(/gave way, and tries again/);
    // One of its tries may be too short to see whose that is.
    await migrating.printed(/waits for process \d+ of the database \(svc/);
  }
  over.resolve();
  await held;
  await migrating.printed(/^applied {2}/m);
  await until(() => migrating.process.exitCode !== null);
  assert.equal(migrating.process.exitCode, 0, migrating.output());
  const made = load.made;
  await until(() => load.made >= made + enough);
  const c = await startGateway(next, dataDir);
  load.gateways = [b, c, a];
  assert.equal(await a.end(), 0);
  load.gateways = [b, c];
  await answered(c, enough);
  load.gateways = [c, b];
  assert.equal(await b.end(), 0);
  load.gateways = [c];
  await answered(c, (load.served.get(c.url) ?? 0) + enough);
  return { load, gateway: c };
}

describe('an upgrade under load', () => {
  after(killAll);
  const before = releaseBefore();

  test('from the release before: no request of 50 a second fails, and what it does with the newer schema is by its rule', {
    skip: 'reason' in before && before.reason,
    timeout: 600_000,
  }, async (t) => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const old = cloneOf((before as { commit: string }).commit, join(folder.path, 'before'));
    const { load, gateway } = await upgrade(dataDir, old, undefined, []);
    const made = await load.end();
    t.diagnostic(`${made} requests, ${load.again} of them at a second gateway`);
    assert.deepEqual(load.failures, []);
    // Releases up to 0.1.0 know no marks, and start on no schema but their own.
    const knowsMarks = existsSync(join(folder.path, 'before/apps/server/src/kernel/db/migration.ts'));
    if (!knowsMarks) {
      const again = start(['up', '--also', '--port', '0', '--data-dir', dataDir], noSandboxes, old);
      await assert.rejects(again.printed(/is ready at/), /a newer version of svc has changed this database/);
    }
    assert.equal(await gateway.end(), 0);
  });

  test('to the next release and back to this one: no request fails, whatever is in the way of its migrations', {
    timeout: 600_000,
  }, async (t) => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    const next = nextRelease(join(folder.path, 'next'), {
      '9001.sessions.colour':
        "-- additive\nalter table sessions.sessions add column colour text not null default 'none';\n",
      '9002.heartbeats.colour': '-- additive\nalter table heartbeats.monitors add column colour text;\n',
      '9003.heartbeats.colours':
        '-- additive, concurrently\ncreate index concurrently monitors_colour on heartbeats.monitors (colour);\n',
      '9004.sessions.colours_view':
        '-- additive\ncreate view sessions.colours_view as select id, colour from sessions.sessions;\n',
    });
    const tables = ['sessions.sessions', 'heartbeats.monitors'];
    const { load, gateway } = await upgrade(dataDir, undefined, next, tables);
    const back = await startGateway(undefined, dataDir);
    load.gateways = [back, gateway];
    assert.equal(await gateway.end(), 0);
    load.gateways = [back];
    const served = load.served.get(back.url) ?? 0;
    await until(() => (load.served.get(back.url) ?? 0) >= served + enough);
    const made = await load.end();
    t.diagnostic(`${made} requests, ${load.again} of them at a second gateway`);
    assert.deepEqual(load.failures, []);
    assert.ok(made >= 5 * enough);
    assert.equal(await back.end(), 0);
  });
});
