import { randomUUID } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { arrayTypes } from '../db/arrays.ts';
import { type DatabaseTarget, type Db, jsonType, openDatabase, type Sql } from '../db/db.ts';
import { jobsSchema } from '../db/role.ts';
import type { Log } from '../base/log.ts';

/** Work that happens later, is retried, or recurs. */
export interface Job<K> {
  /** `<feature>.<verb>`. */
  readonly name: string;
  /** Recurs on this cron expression (UTC), once over all gateways. */
  readonly cron?: string;
  /** Retries after a failure, with exponential back-off from 1 s. Default 5. */
  readonly retries?: number;
  /** Seconds after which a run counts as failed. Default 300. */
  readonly timeoutSeconds?: number;
  readonly run: (kernel: K, data: unknown) => Promise<void>;
}

/** The job queue (pg-boss): at least once, so a job's work must bear a repeat. */
export interface Jobs {
  /** Creates a job in the transaction `db`. `afterSeconds` delays it; a `singletonKey` already queued is not queued twice. */
  send(db: Db, name: string, data: object, options?: { afterSeconds?: number; singletonKey?: string }): Promise<void>;
  /** Creates the queues and starts working on them. */
  start<K>(definitions: readonly Job<K>[], kernel: K): Promise<void>;
  /** Lets running jobs finish (5 s), hands the rest back. */
  close(): Promise<void>;
}

const closeTimeoutMs = 5_000;

/**
 * Opens the queue, on one connection of its own: pg-boss reads timestamps as dates where our rows carry text, and sends
 * whole transactions in one text, which a pool of several connections refuses.
 */
export function openJobs(target: DatabaseTarget, log: Log): Jobs {
  const pool = openDatabase(target, 1, {
    types: { json: jsonType, ...arrayTypes({}) },
    deadline: { statementMs: 60_000 },
  });
  let told: string | undefined;
  const boss = new PgBoss({
    db: ownAdapter(pool, () => (told = undefined)),
    schema: jobsSchema,
    // In the embedded database it is there, and the application's role makes none.
    createSchema: 'url' in target,
    superviseIntervalSeconds: 60,
  });
  // Every queue asks twice a second: an outage is told once, and not by each of them.
  boss.on('error', (err) => {
    const { code = err.message } = err as NodeJS.ErrnoException;
    log[code === told ? 'debug' : 'warn']({ err }, 'job queue');
    told = code;
  });
  let started = false;
  return {
    async send(db, name, data, options = {}) {
      await boss.send(name, data, {
        db: adapter(db),
        ...(options.afterSeconds !== undefined && { startAfter: options.afterSeconds }),
        // The queue's policy lets one job a key wait: one that is to stand for itself gets a key of its own.
        singletonKey: options.singletonKey ?? randomUUID(),
      });
    },
    async start(definitions, kernel) {
      await boss.start();
      started = true;
      for (const definition of definitions) await register(boss, definition, kernel);
      // What a version before repeated and this one does not know.
      const names = new Set(definitions.map(({ name }) => name));
      for (const { name } of await boss.getSchedules()) if (!names.has(name)) await boss.unschedule(name);
    },
    async close() {
      if (started) await boss.stop({ graceful: true, timeout: closeTimeoutMs, close: false });
      await pool.end({ timeout: 1 });
    },
  };
}

async function register<K>(boss: PgBoss, definition: Job<K>, kernel: K): Promise<void> {
  const { name, cron, retries = 5, timeoutSeconds = 300, run } = definition;
  await boss.createQueue(name, {
    policy: 'short',
    retryLimit: retries,
    retryDelay: 1,
    retryBackoff: true,
    expireInSeconds: timeoutSeconds,
    deleteAfterSeconds: 24 * 3600,
  });
  await boss.work(name, async (jobs) => {
    for (const job of jobs) await run(kernel, job.data);
  });
  if (cron !== undefined) await boss.schedule(name, cron, {}, { tz: 'UTC' });
}

/**
 * For the queue's own connection: pg-boss sends whole transactions in one text and, when gateways start at once, lets one
 * of them fail (`already exists`). What failed must not leave the connection in an aborted transaction.
 */
function ownAdapter(pool: Sql, onSuccess: () => void) {
  const plain = adapter(pool);
  return {
    async executeSql(text: string, values?: unknown[]) {
      try {
        const result = await plain.executeSql(text, values);
        onSuccess();
        return result;
      } catch (error) {
        if (/^\s*begin/i.test(text)) await pool.unsafe('rollback').catch(() => {});
        throw error;
      }
    },
  };
}

function adapter(db: Db | Sql) {
  return {
    async executeSql(text: string, values?: unknown[]) {
      const result = await db.unsafe(text, values as never[] | undefined);
      // Several statements in one text answer several results; pg-boss wants the last.
      const last: unknown = Array.isArray(result[0]) ? result.at(-1) : result;
      return { rows: [...(last as unknown[])] };
    },
  };
}
