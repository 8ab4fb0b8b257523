import parser from 'robots-parser';
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { keepRobots, readRobots } from './pages.queue.sql.ts';

/** What crawlers call themselves in robots.txt. */
export const agentName = 'svc';
/** RFC 9309: at least 500 KiB are read, and a copy serves for a day at most. */
const mostBytes = 512 * 1024;
const keptMs = 24 * 3_600_000;
/** A site may ask for longer pauses; longer ones than this are cut. */
const longestPauseMs = 60_000;
const pauseMs = 1_000;

/** The library's types name a default export; it has none. */
const robotsParser = parser as unknown as (
  url: string,
  text: string,
) => {
  isAllowed(url: string, agent: string): boolean | undefined;
  getCrawlDelay(agent: string): number | undefined;
};

/** What a site asks of crawlers. */
export interface Manners {
  mayFetch(url: string): boolean;
  /** Between two requests. */
  readonly pauseMs: number;
}

/** A site that cannot be asked for its robots.txt: nothing of it is fetched for now (RFC 9309, 2.3.1.4). */
export class RobotsUnknown extends Error {
  override name = 'RobotsUnknown';
}

/** A site's robots.txt, at most a day old; throws `RobotsUnknown`. */
export async function mannersOf(
  { sql, clock, outbound }: { sql: Db; clock: Clock; outbound: Kernel['outbound'] },
  url: URL,
): Promise<Manners> {
  const kept = await readRobots(sql, clock, url.host);
  const robotsUrl = new URL('/robots.txt', url).href;
  if (kept && kept.robots !== null && kept.age_ms < keptMs) return toManners(robotsUrl, kept.robots);
  const text = await fetchRobots(outbound, robotsUrl);
  await keepRobots(sql, clock, url.host, text);
  return toManners(robotsUrl, text);
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

function toManners(url: string, text: string): Manners {
  const robots = robotsParser(url, text);
  const asked = (robots.getCrawlDelay(agentName) ?? 0) * 1000;
  return {
    mayFetch: (page) => robots.isAllowed(page, agentName) !== false,
    pauseMs: Math.min(Math.max(asked, pauseMs), longestPauseMs),
  };
}
