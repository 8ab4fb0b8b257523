import type { Config } from '../config.ts';
import type { AuditRecorder } from './audit.ts';
import type { Blobs } from './blobs.ts';
import type { Bus } from './peers/bus.ts';
import type { Clock } from './clock.ts';
import type { Keyring } from './crypto.ts';
import type { Sql } from './db/db.ts';
import type { Gateways } from './peers/gateways.ts';
import type { Jobs } from './jobs.ts';
import type { RateLimiter } from './http/limits.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Outbound } from './outbound.ts';
import type { EventStreams } from './http/sse.ts';
import type { Upstream } from './upstream.ts';
import type { UsageRecorder } from './usage.ts';

/** What the whole process shares: opened by `main.ts`, passed down, closed in reverse order. */
export interface Kernel {
  readonly config: Config;
  /** Where files of this machine are kept. */
  readonly dataDir: string;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly gateways: Gateways;
  readonly clock: Clock;
  readonly log: Log;
  readonly keyring: Keyring;
  readonly blobs: Blobs;
  readonly jobs: Jobs;
  readonly limiter: RateLimiter;
  /** The only way to addresses that callers name. */
  readonly outbound: Outbound;
  /** Connections to what the operator named. */
  readonly upstream: Upstream;
  readonly usage: UsageRecorder;
  readonly audit: AuditRecorder;
  readonly streams: EventStreams;
  readonly metrics: Metrics;
}
