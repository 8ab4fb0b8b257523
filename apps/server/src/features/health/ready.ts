import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { Answer, operation } from '../../kernel/feature.ts';
import { missingMigrations } from '../../kernel/db/migrate.ts';
import { probeAuthPath } from '../keys/index.ts';
import { readProviders } from './health.jobs.ts';

/** A database that takes longer than this is not ready, whatever it would answer. */
const timeoutMs = 2_000;

export const ready = operation(contract.health.ready, async (context) => {
  const [db, schema, registry] = await Promise.all([
    check(context, () => probeAuthPath(context.db), 'the database does not answer the key look-up'),
    check(context, () => schemaIsComplete(context), 'the database lacks migrations of this version, or cannot be read'),
    check(context, () => readProviders(context.kernel), 'the providers file cannot be read or parsed'),
  ]);
  const ok = db.ok && schema.ok && registry.ok;
  return new Answer(
    { ok, checks: { db, schema, registry }, s1: { mode: 'off', ok: true, ms: 0 } },
    { status: ok ? 200 : 503 },
  );
});

async function schemaIsComplete(context: Context): Promise<void> {
  const missing = await missingMigrations(context.db);
  if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`);
}

/** The reason goes to the log; the caller, who is anyone, gets a sentence that tells nothing of the inside. */
async function check(context: Context, work: () => Promise<unknown>, error: string) {
  const timedOut = Promise.withResolvers<never>();
  const cancel = context.clock.after(timeoutMs, () => timedOut.reject(new Error('timed out')));
  try {
    await Promise.race([work(), timedOut.promise]);
    return { ok: true };
  } catch (err) {
    context.log.warn({ err }, error);
    return { ok: false, error };
  } finally {
    cancel();
  }
}
