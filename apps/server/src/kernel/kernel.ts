import type { Config } from '../config.ts';
import type { AuditRecorder } from './records/audit.ts';
import type { Blobs } from './outside/blobs.ts';
import type { Bus } from './peers/bus.ts';
import type { Clock } from './base/clock.ts';
import type { Keyring } from './base/crypto.ts';
import type { Sql } from './db/db.ts';
import type { DeviceStreams } from './streams/device-streams.ts';
import type { Feed } from './streams/feed.ts';
import type { Gateways } from './peers/gateways.ts';
import type { Jobs } from './work/jobs.ts';
import type { Pulse } from './work/pulse.ts';
import type { RateLimiter } from './share/limits.ts';
import type { Log } from './base/log.ts';
import type { MachineId } from './base/machine-id.ts';
import type { Metrics } from './base/metrics.ts';
import type { Outbound } from './outside/outbound.ts';
import type { EventStreams } from './streams/sse.ts';
import type { Upstream } from './outside/upstream.ts';
import type { UsageRecorder } from './records/usage.ts';

/** Parts that the whole process shares: opened by `main.ts`, passed down, closed in reverse order. */
export interface Kernel {
  readonly config: Config;
  readonly machine: MachineId;
  /** Where files of this machine are kept. */
  readonly dataDir: string;
  readonly sql: Sql;
  /** Connections for jobs and tickers, whose statements and transactions may be long. */
  readonly background: Sql;
  readonly bus: Bus;
  readonly gateways: Gateways;
  readonly clock: Clock;
  readonly log: Log;
  readonly keyring: Keyring;
  readonly blobs: Blobs;
  readonly jobs: Jobs;
  /** When the loops of this process turned that a worker is there for. */
  readonly pulse: Pulse;
  readonly limiter: RateLimiter;
  /** The only way to addresses that callers name. */
  readonly outbound: Outbound;
  /** Connections to what the operator named. */
  readonly upstream: Upstream;
  readonly usage: UsageRecorder;
  readonly audit: AuditRecorder;
  readonly streams: EventStreams;
  readonly deviceStreams: DeviceStreams;
  /** What happened to each account, in order. */
  readonly feed: Feed;
  readonly metrics: Metrics;
  /** By name, what features add to `/health/ready`; undefined: it says nothing of this process. */
  readonly readiness: Map<string, () => { ok: boolean; error?: string } | undefined>;
}
