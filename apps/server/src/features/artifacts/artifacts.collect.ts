import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Kernel } from '../../kernel/kernel.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import {
  type ArtifactRow,
  bytesKept,
  deleteArtifacts,
  expireArtifacts,
  idsOfAccount,
  insertArtifact,
  judgeArtifact,
  renewArtifact,
} from './artifacts.sql.ts';
import { Sniffer } from './artifacts.mime.ts';

/** Bytes behind an account's valid links: a workspace has 2 GiB, and an hour is short. */
const mostKept = 20 * 1024 ** 3;

/** A file that was listed is no file any more. */
export class ArtifactGone extends Error {
  override name = 'ArtifactGone';
}

/** A sandbox that files are taken from. */
export interface ArtifactSource {
  accountId: string;
  sandboxId: string;
  /** The bytes of a file, by its path relative to `/workspace`; throws `ArtifactGone` when it is no file any more. */
  open(path: string): Promise<Readable>;
  /** The antivirus verdict over bytes. */
  scan(body: Readable): Promise<'clean' | 'infected' | 'error'>;
}

/** Takes one file into the store: read once, and that copy hashed, typed and scanned. */
export async function storeArtifact(kernel: Kernel, source: ArtifactSource, path: string): Promise<ArtifactRow> {
  const { accountId, sandboxId } = source;
  await checkRoom(kernel, accountId);
  const id = randomUUID();
  const blob = `artifacts/${id}`;
  const hash = createHash('sha256');
  const sniffer = new Sniffer();
  const observed = Readable.from(observe(await source.open(path)), { objectMode: false });
  async function* observe(body: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      hash.update(chunk);
      sniffer.see(chunk);
      yield chunk;
    }
  }
  // The row first: whatever dies in between, the sweep finds the bytes by it.
  await insertArtifact(kernel.sql, kernel.clock, { id, accountId, sandboxId, path });
  const bytes = await kernel.blobs.put(blob, observed);
  const sha256 = hash.digest('hex');
  const known = await renewArtifact(kernel.sql, kernel.clock, { sandboxId, path, sha256 });
  if (known) {
    await kernel.blobs.delete(blob);
    await deleteArtifacts(kernel.sql, [id]);
    return known;
  }
  const mime = await sniffer.mime(async () => (await kernel.blobs.get(blob))?.body);
  const scan = await scanned(kernel, source, blob);
  const row = await judgeArtifact(kernel.sql, kernel.clock, { id, bytes, mime, sha256, scan });
  if (row?.scan !== 'clean') await kernel.blobs.delete(blob);
  // Its account was deleted meanwhile.
  if (!row) throw new ArtifactGone(path);
  return row;
}

/** Throws `quota_exceeded` while an account's valid links hold as many bytes as they may. */
export async function checkRoom(kernel: Kernel, accountId: string): Promise<void> {
  if ((await bytesKept(kernel.sql, accountId)) < mostKept) return;
  throw new ApiError('quota_exceeded', 'files handed out in the last hour take over 20 GiB; wait until links expire', {
    headers: { 'retry-after': '600', 'x-should-retry': 'false' },
  });
}

async function scanned(kernel: Kernel, source: ArtifactSource, blob: string): Promise<ArtifactRow['scan']> {
  const stored = await kernel.blobs.get(blob);
  if (!stored) return 'error';
  try {
    return await source.scan(stored.body);
  } catch (err) {
    kernel.log.warn({ err }, 'an artifact was not scanned');
    return 'error';
  } finally {
    // Its file is open, read or not.
    stored.body.destroy();
  }
}

const deletedAtOnce = 500;

/**
 * Deletes an account's files and their bytes. One whose bytes are not here, as they are in the data dir of another
 * machine, is left for the sweep there: its link ends at once.
 */
export async function deleteOfAccount(
  { sql, blobs }: Pick<Kernel, 'sql' | 'blobs'>,
  accountId: string,
): Promise<{ deleted: number; left: number }> {
  const counts = { deleted: 0, left: 0 };
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await idsOfAccount(sql, accountId, after, deletedAtOnce);
    const gone: string[] = [];
    const elsewhere: string[] = [];
    for (const { id, scan } of rows) {
      const isHere = scan !== 'clean' || (await blobs.size(`artifacts/${id}`)) !== undefined;
      await blobs.delete(`artifacts/${id}`);
      (isHere ? gone : elsewhere).push(id);
    }
    await deleteArtifacts(sql, gone);
    await expireArtifacts(sql, elsewhere);
    counts.deleted += gone.length;
    counts.left += elsewhere.length;
    const last = rows.at(-1);
    if (!last || rows.length < deletedAtOnce) return counts;
    after = last.id;
  }
}
