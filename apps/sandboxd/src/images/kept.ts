import { rm } from 'node:fs/promises';
import { NodeError } from '../error.ts';
import { readArchive, readHeader, writeArchive } from './archive.ts';
import type { ImageStore, StoredImage } from './store.ts';

/** Writes an image to a file that is not there yet: one that a paused sandbox was started from, of whatever recipe. */
export async function exportKept(store: ImageStore, digest: string, file: string): Promise<void> {
  const image = store.list().find((each) => each.digest === digest);
  if (!image) throw new NodeError('not_found', 'no such image');
  await writeArchive(image, file);
}

/**
 * Takes it in on another machine, under the digest that its sandboxes know it by: packed again its own is another one. Answers
 * the one that is there already.
 */
export async function importKept(store: ImageStore, digest: string, file: string): Promise<StoredImage> {
  const known = store.list().find((each) => each.digest === digest);
  if (known) return known;
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new NodeError('bad_request', 'not the digest of an image');
  const header = await readHeader(file);
  const place = await store.begin(header.template);
  try {
    await readArchive(file, header, place);
    await store.clean(place);
    const { template, recipe, bytes, built_at } = header;
    return await store.commit(place, { template, digest, recipe, bytes, built_at });
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
