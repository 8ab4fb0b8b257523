import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Db } from '../../../kernel/db/db.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { plus, readNow } from '../../../kernel/db/instant.ts';
import type { Deleting } from '../../../kernel/deletion.ts';
import type { JobDefinition } from '../../../kernel/feature.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { missingBlob } from '../../../kernel/outside/blobs.ts';
import { checkQuota } from '../../../kernel/records/quotas.ts';
import {
  addPart,
  deleteLogs,
  findLog,
  listLoose,
  listOldLogs,
  listParts,
  lockLog,
  type LogRow,
  noteStored,
  runLogBytesQuota,
} from './logs.sql.ts';

/** Bytes of a run's log that are kept, of all its attempts. */
export const mostLogBytes = 10 * 2 ** 20;
/** The bound of the account is looked at for each so many bytes of a run. */
const checkEveryBytes = 2 ** 20;
const partsAtOnce = 16;
const restMs = 5 * 60_000;
const keptMs = 30 * 86_400_000;
const batch = 100;

const folderOf = (accountId: string): string => `schedule-logs/${accountId}/`;
const blobOf = ({ account_id, run_id }: LogRow): string => folderOf(account_id) + run_id;

/**
 * Adds what an attempt wrote from its byte `offset` on; answers how many bytes of the attempt are here and whether more
 * are taken. What was here before is passed over, and so is what leaves a gap: the answer says where to go on.
 */
export async function appendLog(
  kernel: Pick<Kernel, 'sql' | 'clock' | 'config'>,
  run: { id: string; account_id: string; attempt: number },
  offset: number,
  text: Uint8Array,
): Promise<{ bytes: number; full: boolean }> {
  return inTransaction(kernel.sql, async (db) => {
    const { iso: now } = await readNow(db, kernel.clock);
    const log = await lockLog(db, run, now);
    if (run.attempt > log.attempt) Object.assign(log, { attempt: run.attempt, attempt_at: log.bytes });
    if (run.attempt < log.attempt) return { bytes: offset, full: true };
    const here = log.bytes - log.attempt_at;
    const room = mostLogBytes - log.bytes;
    const fresh = offset > here ? text.subarray(0, 0) : text.subarray(Math.min(here - offset, text.length));
    const added = fresh.subarray(0, room);
    if (added.length > 0) {
      const isOver =
        Math.floor(log.bytes / checkEveryBytes) !== Math.floor((log.bytes + added.length) / checkEveryBytes);
      if (log.bytes === 0 || isOver) await checkQuota(kernel.config, db, runLogBytesQuota, run.account_id);
      await addPart(db, log, added, now);
    }
    return { bytes: here + added.length, full: fresh.length >= room };
  });
}

/** The log of a run from a byte on, piece by piece. */
export async function* readLog(
  { sql, blobs }: Pick<Kernel, 'sql' | 'blobs'>,
  runId: string,
  from: number,
): AsyncGenerator<Buffer> {
  let at = from;
  const log = await findLog(sql, runId);
  if (!log) return;
  if (at < log.stored_bytes) {
    const stored = await blobs.get(blobOf(log), { start: at, end: log.stored_bytes - 1 });
    if (!stored) throw missingBlob('the log of this run');
    let bytes = 0;
    for await (const chunk of stored.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      yield chunk;
    }
    if (bytes !== log.stored_bytes - at) throw missingBlob('a part of the log of this run');
    at = log.stored_bytes;
  }
  for (;;) {
    const parts = await listParts(sql, runId, at, partsAtOnce);
    for (const part of parts) {
      // A job made a blob of what is missing here.
      if (part.at > at) {
        yield* readLog({ sql, blobs }, runId, at);
        return;
      }
      yield part.body.subarray(at - part.at);
      at = part.at + part.body.length;
    }
    if (parts.length < partsAtOnce) break;
  }
  const now = await findLog(sql, runId);
  if (now && now.stored_bytes > at) yield* readLog({ sql, blobs }, runId, at);
}

/** The same; throws before the first byte what can be known by then, as a head cannot be taken back. */
export async function openLog(kernel: Pick<Kernel, 'sql' | 'blobs'>, runId: string, from: number): Promise<Readable> {
  const pieces = readLog(kernel, runId, from);
  const first = await pieces.next();
  const all = async function* (): AsyncGenerator<Buffer> {
    if (!first.done) yield first.value;
    yield* pieces;
  };
  return Readable.from(all());
}

/** Every ten minutes: makes one blob of the parts of a log that nothing was added to for five minutes. */
export const storeLogs: JobDefinition = {
  name: 'scheduler.storeLogs',
  cron: '*/10 * * * *',
  async run(kernel) {
    const { sql, clock } = kernel;
    const before = plus(await readNow(sql, clock), -restMs).iso;
    for (let loose = await listLoose(sql, before, batch); loose.length > 0; ) {
      let stored = 0;
      for (const log of loose) stored += Number(await storeApart(kernel, log));
      loose = loose.length < batch || stored === 0 ? [] : await listLoose(sql, before, batch);
    }
  },
};

/** Answers whether it was stored: a log whose blob is missing holds up no other, and keeps its parts. */
async function storeApart(kernel: Pick<Kernel, 'sql' | 'blobs' | 'log'>, log: LogRow): Promise<boolean> {
  try {
    await storeLog(kernel, log);
    return true;
  } catch (err) {
    kernel.log.error({ err, run: log.run_id }, 'the log of a run was not stored; it is tried again');
    return false;
  }
}

/** Replaces a blob as a whole: a reader of the old one has it open. */
async function storeLog(kernel: Pick<Kernel, 'sql' | 'blobs'>, log: LogRow): Promise<void> {
  const whole = await buffer(Readable.from(readLog(kernel, log.run_id, 0)));
  const known = whole.subarray(0, log.bytes);
  await kernel.blobs.put(blobOf(log), known);
  await inTransaction(kernel.sql, (db: Db) => noteStored(db, log.run_id, known.length));
}

/** Deletes logs that are 30 days old. */
export async function sweepLogs({ sql, blobs }: Pick<Kernel, 'sql' | 'blobs'>, now: string): Promise<void> {
  const before = new Date(Date.parse(now) - keptMs).toISOString();
  for (let old = await listOldLogs(sql, before, batch); old.length > 0; old = await listOldLogs(sql, before, batch)) {
    for (const log of old) await blobs.delete(blobOf(log));
    await deleteLogs(
      sql,
      old.map(({ run_id }) => run_id),
    );
  }
}

/** Deletes the blobs of an account's logs; answers how many there were. */
export async function deleteLogBlobs({ blobs }: Pick<Deleting, 'blobs'>, accountId: string): Promise<number> {
  const names = await blobs.list(folderOf(accountId));
  for (const name of names) await blobs.delete(name);
  return names.length;
}
