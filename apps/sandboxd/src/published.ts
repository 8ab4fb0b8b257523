import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes files to `<dir>/<hash of their content>`, unless they are there: what was started with them stays as it is when
 * the product is upgraded. Everybody may read them; a power cut leaves a whole directory or none.
 */
export async function publish(
  dir: string,
  files: ReadonlyMap<string, string>,
): Promise<{ path: string; hash: string }> {
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256');
  for (const [name, content] of sorted) hash.update(name).update('\0').update(content);
  const digest = hash.digest('hex').slice(0, 32);
  const path = join(dir, digest);
  await mkdir(dir, { recursive: true, mode: 0o711 });
  if (!(await readdir(dir)).includes(digest)) {
    const fresh = join(dir, `.${digest}.${process.pid}`);
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh);
    for (const [name, content] of sorted) {
      await writeFile(join(fresh, name), content, { flush: true });
      await chmod(join(fresh, name), 0o644);
    }
    await chmod(fresh, 0o755);
    await rename(fresh, path);
  }
  return { path, hash: digest };
}

/** Removes what was published and is older than `ageMs`, but for the paths in `keep`. */
export async function sweepPublished(dir: string, keep: ReadonlySet<string>, ageMs: number): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const path = join(dir, name);
    const known = keep.has(path) ? undefined : await stat(path).catch(() => undefined);
    if (known && Date.now() - known.mtimeMs >= ageMs) await rm(path, { recursive: true, force: true });
  }
}
