import type { Kernel } from '../../kernel/kernel.ts';
import { missingMigrations } from '../../kernel/db/applied.ts';
import { probeAuthPath } from '../keys/index.ts';
import { lanesOff, readProviders } from './health.jobs.ts';

/** A database that takes longer than this is not ready, whatever it would answer. */
const timeoutMs = 2_000;

/** Whether this process can do its work: the record of `/health/ready`. */
export async function readinessOf(kernel: Kernel) {
  const [db, schema, registry] = await Promise.all([
    check(kernel, () => probeAuthPath(kernel.sql), 'the database does not answer the key look-up'),
    check(kernel, () => schemaIsComplete(kernel), 'the database lacks migrations of this version, or cannot be read'),
    check(kernel, () => Promise.try(readProviders, kernel), 'the providers file cannot be read or parsed'),
  ]);
  const worker = kernel.gateways.work();
  const added = [...kernel.readiness].flatMap(([name, read]) => {
    const found = read();
    return found ? [[name, found] as const] : [];
  });
  const ok = [db, schema, registry, ...(worker ? [worker] : []), ...added.map(([, found]) => found)].every(
    (one) => one.ok,
  );
  // The others go on without it: no reason to take the gateway out of service.
  const off = [...lanesOff(kernel)].join(', ');
  const told = off === '' ? registry : { error: `lanes without a key: ${off}; ./svc doctor says why`, ...registry };
  return {
    ok,
    checks: { db, schema, registry: told, ...(worker && { worker }), ...Object.fromEntries(added) },
    s1: { mode: 'off' as const, ok: true, ms: 0 },
  };
}

async function schemaIsComplete({ sql }: Kernel): Promise<void> {
  const missing = await missingMigrations(sql);
  if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
}

/** The reason goes to the log; the caller, who is anyone, gets a sentence that tells nothing of the inside. */
async function check({ clock, log }: Kernel, work: () => Promise<unknown>, error: string) {
  const timedOut = Promise.withResolvers<never>();
  const cancel = clock.after(timeoutMs, () => timedOut.reject(new Error('timed out')));
  try {
    await Promise.race([work(), timedOut.promise]);
    return { ok: true };
  } catch (err) {
    log.warn({ err }, error);
    return { ok: false, error };
  } finally {
    cancel();
  }
}
