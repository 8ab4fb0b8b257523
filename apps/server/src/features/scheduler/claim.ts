import { contract, hostKinds } from '@svc/contract';
import { BrokenSeal } from '../../kernel/base/crypto.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { type Instant, instantOf, plus } from '../../kernel/db/instant.ts';
import { serveAs } from '../devices/index.ts';
import type { Rights } from '../schedules/index.ts';
import type { SchedulerParts } from './scheduler.admit.ts';
import { askAgain, type Claimer, countRunning, type HostReport, seeHost } from './claims/hosts.sql.ts';
import { resolveLate } from './outcomes/alerts.ts';
import { claimFailover, claimForHost, type HostRun } from './claims/claims.sql.ts';
import { openRunSpec } from './work/headers.ts';
import { moveRun } from './outcomes/settle.ts';
import type { RunRow } from './scheduler.sql.ts';
import { leaseMs } from './scheduler.effects.ts';
import { move } from './scheduler.moves.ts';

/** The next run for this host, or `null` after `wait_s`. */
export const claim = (claims: Claims): Operation =>
  operation(contract.scheduler.claim, async (context, { body }) => {
    const deviceId = context.deviceId ?? body.device_id;
    if (deviceId === undefined) {
      const message = 'send x-svc-device, or device_id in the body';
      throw badRequest(message, { device_id: [message] });
    }
    if (body.device_id !== undefined && body.device_id !== deviceId) {
      const message = 'is not the device of x-svc-device';
      throw badRequest(`device_id: ${message}`, { device_id: [message] });
    }
    await serveAs(context.db, { actor: context.actor, deviceId, takesOver: true });
    const host = {
      accountId: context.actor.accountId,
      deviceId,
      kinds: [...new Set(body.kinds ?? hostKinds)].sort(),
      tags: body.tags && [...new Set(body.tags)].sort(),
    };
    if (body.again === true) await askAgain(context.db, host.accountId, deviceId);
    const run = await claims.take(host, body.wait_s * 1000, context.signal);
    if (!run) return { run: null };
    const spec = await claims.specOf(run, deviceId);
    if (!spec) return { run: null };
    const { id, attempt, schedule_id, name, kind, scheduled_for, timeout_s, command_hash, ignore } = run;
    return {
      run: {
        id,
        attempt,
        schedule_id,
        name,
        kind: kind as (typeof hostKinds)[number],
        spec,
        scheduled_for,
        timeout_s,
        ...(command_hash !== null && { command_hash }),
        ...(ignore !== null && { ignore }),
        lease_expires_at: run.lease_expires_at as string,
      },
    };
  });

/** A claim that waits looks again this often by itself: back-offs end and machines go offline without a word. */
const lookAgainMs = 2_000;
/** `late_after_s` is whole seconds: of a run that is taken sooner nobody was told. */
const soonMs = 1_000;
const uniqueViolation = '23505';

/** Claims of hosts, at once or as soon as there is something. */
export class Claims {
  readonly #parts: SchedulerParts;
  readonly #rights: Rights;
  #draining = false;

  constructor(parts: SchedulerParts, rights: Rights) {
    this.#parts = parts;
    this.#rights = rights;
  }

  /** Answers every claim that waits. */
  drain(): void {
    this.#draining = true;
    this.#parts.changes.wakeAll();
  }

  /** Takes a run for the host; waits up to `waitMs` for one. A caller that went away gets none. */
  async take(host: HostReport, waitMs: number, signal: AbortSignal): Promise<HostRun | undefined> {
    const { clock } = this.#parts.kernel;
    const end = clock.monotonic() + waitMs;
    for (;;) {
      // Asked for before looking, so that a run that comes in between is not slept over.
      const left = end - clock.monotonic();
      const woken = new AbortController();
      const waiting =
        left > 0 && !this.#draining
          ? this.#parts.changes.nextWake(
              host.accountId,
              Math.min(left, lookAgainMs),
              AbortSignal.any([signal, woken.signal]),
            )
          : undefined;
      const run = await this.#try(host, !waiting);
      if (run || !waiting) {
        woken.abort();
        if (run && signal.aborted) await this.#handBack(run, host.deviceId);
        return signal.aborted ? undefined : run;
      }
      await waiting;
      if (signal.aborted) return undefined;
    }
  }

  /** The spec of a run that was taken. A run whose headers cannot be opened fails: it would block all others. */
  async specOf(run: RunRow, deviceId: string): Promise<Record<string, unknown> | undefined> {
    try {
      return await openRunSpec(this.#parts.kernel, run);
    } catch (error) {
      if (!(error instanceof BrokenSeal)) throw error;
      const { sql } = this.#parts.kernel;
      const by = { pool: 'host', attempt: run.attempt, holderId: deviceId } as const;
      await inTransaction(sql, (db) =>
        moveRun(this.#parts, db, run, move('report', { ok: false, error: error.message, by })),
      );
      return undefined;
    }
  }

  async #try(host: HostReport, patient: boolean): Promise<HostRun | undefined> {
    const { sql, clock } = this.#parts.kernel;
    const claimer = await seeHost(sql, host, clock);
    const now = instantOf(Date.parse(claimer.now));
    if (claimer.paused) return undefined;
    try {
      for (;;) {
        const run = await this.#claim(host, claimer, now, patient);
        if (!run || (await this.#isAllowed(run, host.deviceId))) return run;
      }
    } catch (error) {
      // Another host took a run of the same schedule at this instant: there is nothing for this one.
      if ((error as { code?: unknown }).code === uniqueViolation) return undefined;
      throw error;
    }
  }

  /** Whether the keys behind a run that was taken may still do this; one whose keys may not fails, and is not handed out. */
  async #isAllowed(run: RunRow, deviceId: string): Promise<boolean> {
    try {
      await this.#rights.find(run, { kind: run.kind, inCloud: false });
      return true;
    } catch (error) {
      const { sql, log } = this.#parts.kernel;
      if (!(error instanceof ApiError) || error.code === 'unavailable') {
        await this.#handBack(run, deviceId).catch((err: unknown) =>
          log.warn({ err, run: run.id }, 'a run that nobody was told of is not handed back; its lease ends'),
        );
        throw error;
      }
      await inTransaction(sql, (db) => moveRun(this.#parts, db, run, move('loseKey', { error: error.message })));
      return false;
    }
  }

  async #claim(host: HostReport, claimer: Claimer, now: Instant, patient: boolean): Promise<HostRun | undefined> {
    const { sql, feed } = this.#parts.kernel;
    const { accountId, deviceId, kinds } = host;
    const { tags, max_parallel: most } = claimer;
    const claim = {
      holderId: deviceId,
      now: now.iso,
      leaseUntil: plus(now, leaseMs).iso,
    };
    const own = { deviceId, kinds, tags };
    const take = async (db: Db): Promise<HostRun | undefined> =>
      // Waiting for a locked row comes last: 50 claimers that waited at once queued on one row, at 5 to 9 ms a claim.
      (await claimForHost(db, accountId, own, claim, false)) ??
      (patient ? await claimForHost(db, accountId, own, claim, true) : undefined) ??
      (await claimFailover(db, accountId, own, claim));
    const run =
      most === null
        ? await take(sql)
        : await inTransaction(sql, async (db) =>
            (await countRunning(db, claimer.id, deviceId)) >= most ? undefined : take(db),
          );
    // Only who was late was told of.
    if (run && now.ms - Date.parse(run.created_at) >= soonMs) await resolveLate(this.#parts.kernel, sql, run);
    // Nothing is claimable by this, so no claim is woken.
    if (run) await feed.recorded(sql, [accountId]);
    return run;
  }

  /** The answer reached nobody: the run goes on at once, not after a minute. */
  async #handBack(claimed: RunRow, deviceId: string): Promise<void> {
    const { sql } = this.#parts.kernel;
    const by = { pool: 'host', attempt: claimed.attempt, holderId: deviceId } as const;
    await inTransaction(sql, (db) => moveRun(this.#parts, db, claimed, move('handBack', { by })));
  }
}
