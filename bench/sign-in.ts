// Signing in: how long a live session takes to a page, whether the time of a refusal tells who has an account, and what many
// sign-ins at once do to others. There is no peer: the figures asked for are those of the design.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Browser } from './lib/browser.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { memoryOf } from './lib/processes.ts';
import { atMost, bench } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const password = 'seven quiet otters by the quay';
/** A pair of account and network has five tries. */
const triesOfEach = 4;
const mib = 1024;
/** Each person is at home: a network has 60 tries a minute. */
const networkOf = (n: number): string => `10.0.${n >> 8}.${n & 255}`;
/** The platform checks two passwords at once and lets twenty wait. */
const inFlight = 20;

await bench('sign-in', { tries: 1_000, people: 250, pages: 60, settle: 10 }, async (options, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, {
    SVC_RATE_REQUESTS: '100000000',
    SVC_TRUSTED_PROXIES: '127.0.0.0/8',
  });
  const base = `http://localhost:${platform.port}`;
  const setup = readFileSync(join(dataDir.path, 'setup.link'), 'utf8').trim();
  await delay(options.settle * 1_000);
  const before = memoryOf(platform.pid).rss / mib;

  say('setting up the owner, and opening the page of a live session');
  const owner = new Browser();
  await owner.settle(setup, 'owner@example.com', password);
  const pages = await openPages(owner, base, options.pages);
  await delay(options.settle * 1_000);
  const idle = memoryOf(platform.pid).rss / mib;

  say(`${options.people} people set a password`);
  const people = await invite(base, platform.key, options.people);
  say(`${options.tries} wrong passwords of known and of unknown addresses`);
  const times = await tryWrong(base, people, options.tries);
  say(`${people.length} people sign in at once, and /health meanwhile`);
  const { health, seconds, failed } = await signInAtOnce(base, people);

  const [known, unknown] = [percentile(times.known, 0.5), percentile(times.unknown, 0.5)];
  return {
    rows: [
      row('authorize to page', pages),
      row('wrong password, known address', times.known),
      row('wrong password, unknown address', times.unknown),
      row(`/health, ${people.length} sign-ins in ${seconds.toFixed(1)} s (${failed} failed)`, health),
      { what: 'MiB of the gateway, before and after identity was used', p50: before, p99: idle, count: 2 },
    ],
    targets: [
      atMost('authorize to page, p50 ms', percentile(pages, 0.5), 150),
      atMost('known and unknown address, medians apart by %', 100 * Math.abs(known / unknown - 1), 3),
      atMost('/health p99 ms during sign-ins', percentile(health, 0.99), 100),
      atMost('MiB idle with identity', idle, 150),
    ],
  };
});

/** Milliseconds from the provider's first address to the hub's page, with a session that is live there. */
async function openPages(owner: Browser, base: string, count: number): Promise<number[]> {
  await owner.follow(`${base}/hub/login/start`);
  const pages: number[] = [];
  for (let n = 0; n < count; n += 1) {
    // A network may begin 60 sign-ins a minute.
    await delay(1_100);
    const authorize = await owner.follow(`${base}/hub/login/start`, /\/authorize\?/);
    const began = performance.now();
    await owner.follow(authorize);
    pages.push(performance.now() - began);
  }
  return pages;
}

/** Addresses of people who were invited, and set a password. */
async function invite(base: string, key: string, count: number): Promise<string[]> {
  const people: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const email = `person-${n}@example.com`;
    const response = await fetch(`${base}/v1/accounts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    });
    const { url } = (await response.json()) as { url: string };
    await new Browser().settle(url, email, password);
    people.push(email);
  }
  return people;
}

/** Milliseconds of each refusal; known and unknown addresses in turn. */
async function tryWrong(
  base: string,
  people: readonly string[],
  tries: number,
): Promise<{ known: number[]; unknown: number[] }> {
  const stranger = new Browser();
  const page = await stranger.follow(`${base}/hub/login/start`);
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let n = 0; n < Math.min(tries, people.length * triesOfEach); n += 1) {
    const at = Math.floor(n / triesOfEach);
    for (const [kind, email] of [
      ['known', people[at] ?? ''],
      ['unknown', `nobody-${at}@example.com`],
    ] as const) {
      const began = performance.now();
      await stranger.open(page, { email, password: `wrong ${password}` }, networkOf(at));
      times[kind].push(performance.now() - began);
    }
  }
  return times;
}

/** All of them sign in, twenty at a time; milliseconds of `/health` meanwhile. */
async function signInAtOnce(
  base: string,
  people: readonly string[],
): Promise<{ health: number[]; seconds: number; failed: number }> {
  const health: number[] = [];
  const poll = { isOver: false };
  const polled = (async () => {
    while (!poll.isOver) {
      const began = performance.now();
      await (await fetch(`${base}/health`)).arrayBuffer();
      health.push(performance.now() - began);
      await delay(5);
    }
  })();
  const browser = new Browser();
  const form = await browser.follow(`${base}/hub/login/start`);
  const waiting = people.map((email, n) => ({ email, network: networkOf(n) }));
  let failed = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      const { status } = await browser.open(form, { email: one.email, password }, one.network);
      if (status !== 200) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const seconds = (performance.now() - began) / 1_000;
  poll.isOver = true;
  await polled;
  return { health, seconds, failed };
}

function row(what: string, values: readonly number[]) {
  return { what, p50: percentile(values, 0.5), p99: percentile(values, 0.99), count: values.length };
}
