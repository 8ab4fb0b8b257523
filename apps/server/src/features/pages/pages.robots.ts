import type { Clock } from '../../kernel/base/clock.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { mayFetch } from './pages.robots.rules.ts';
import { type Pool, UnreadableError } from './pages.pool.ts';
import { keepRobots, readRobots } from './pages.queue.sql.ts';

/** Our crawler's name in robots.txt. */
const agentName = 'svc';
/** RFC 9309: at least 500 KiB are read, and a copy serves for a day at most. */
const mostBytes = 512 * 1024;
const keptMs = 24 * 3_600_000;
/** A site may ask for longer pauses; longer ones than this are cut. */
const longestPauseMs = 60_000;
const pauseMs = 1_000;
/** Of the operator's work among accounts that take turns. */
const owner = 'operator';

/** The limits that a site sets for crawlers. */
export interface RobotsPolicy {
  mayFetch(url: string): boolean;
  /** Between two requests. */
  readonly pauseMs: number;
}

/** A site that cannot be asked for its robots.txt: nothing of it is fetched for now (RFC 9309, 2.3.1.4). */
export class RobotsUnknown extends Error {
  override name = 'RobotsUnknown';
}

/** A site's robots.txt, at most a day old, read in a worker; throws `RobotsUnknown`. */
export async function robotsPolicyOf(
  { sql, clock, outbound }: { sql: Db; clock: Clock; outbound: Kernel['outbound'] },
  pool: Pool,
  url: URL,
): Promise<RobotsPolicy> {
  const kept = await readRobots(sql, clock, url.host);
  if (kept && kept.robots !== null && kept.age_ms < keptMs) return read(pool, kept.robots);
  const text = await fetchRobots(outbound, new URL('/robots.txt', url).href);
  await keepRobots(sql, clock, url.host, text);
  return read(pool, text);
}

async function fetchRobots(outbound: Kernel['outbound'], url: string): Promise<string> {
  try {
    const { status, body } = await outbound.request(url, { maxBytes: mostBytes });
    // Missing: everything is allowed. Broken: nothing is, until it is mended.
    if (status >= 500 || status === 429) throw new Error(`the server answered ${status}`);
    return status >= 200 && status < 300 ? body.toString('utf8').replaceAll('\u0000', '') : '';
  } catch (error) {
    throw new RobotsUnknown('robots.txt cannot be read', { cause: error });
  }
}

async function read(pool: Pool, text: string): Promise<RobotsPolicy> {
  // Most sites have none.
  if (text === '') return { mayFetch: () => true, pauseMs };
  try {
    const rules = await pool.do(owner, { kind: 'robots', text, agent: agentName });
    return {
      mayFetch: (page) => mayFetch(rules, new URL(page)),
      pauseMs: Math.min(Math.max(rules.delay * 1000, pauseMs), longestPauseMs),
    };
  } catch (error) {
    if (error instanceof UnreadableError) throw new RobotsUnknown('robots.txt cannot be read', { cause: error });
    throw error;
  }
}
