import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { template } from '@svc/contract';
import { z } from 'zod';
import { run } from '../run.ts';

/** `image.json` beside a root file system. */
const imageFile = z.object({
  template,
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  recipe: z.string(),
  bytes: z.int(),
  built_at: z.string(),
});
type ImageFile = z.output<typeof imageFile>;
export type StoredImage = ImageFile & { rootfs: string };

/**
 * Images on disk: `<dir>/<hex of the digest>/rootfs` with `image.json`. A directory of that name is complete; what is
 * being made has a name of its own and is renamed when everything of it is on the disk.
 */
export interface ImageStore {
  list(): StoredImage[];
  /** A directory to make an image in, on the same file system. */
  begin(template: string): Promise<string>;
  /** Removes what is in `work` beside the root file system. */
  clean(work: string): Promise<void>;
  /** Makes `<work>/rootfs` an image. */
  commit(work: string, image: ImageFile): Promise<StoredImage>;
  remove(digest: string): Promise<void>;
  /** Removes what builds of that template left behind. Only who holds the template's lock may. */
  sweep(template: string): Promise<void>;
}

export function createImageStore(dir: string): ImageStore {
  const read = (name: string): StoredImage | undefined => {
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined;
    try {
      const image = imageFile.parse(JSON.parse(readFileSync(join(dir, name, 'image.json'), 'utf8')));
      const rootfs = join(dir, name, 'rootfs');
      return image.digest === `sha256:${name}` && existsSync(rootfs) ? { ...image, rootfs } : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    list: () => (existsSync(dir) ? readdirSync(dir) : []).flatMap((name) => read(name) ?? []),
    async begin(template) {
      await mkdir(dir, { recursive: true, mode: 0o755 });
      return mkdtemp(join(dir, `.building-${template}-`));
    },
    async clean(work) {
      for (const name of await readdir(work)) if (name !== 'rootfs') await removeTree(join(work, name));
      await chmod(work, 0o755);
    },
    async commit(work, image) {
      const final = join(dir, image.digest.slice('sha256:'.length));
      await writeFile(join(work, 'image.json'), `${JSON.stringify(image, null, 2)}\n`);
      // Everything is on the disk before the name is: a power cut leaves no image with holes.
      await run('sync', ['-f', work], { timeoutMs: 600_000 });
      // The same bytes made by another recipe: only what is said about them is new.
      if (existsSync(join(final, 'rootfs'))) await rename(join(work, 'image.json'), join(final, 'image.json'));
      else {
        await removeTree(final);
        await rename(work, final);
      }
      await syncDirectory(dir);
      return { ...image, rootfs: join(final, 'rootfs') };
    },
    async remove(digest) {
      const name = digest.replace(/^sha256:/, '');
      if (!/^[0-9a-f]{64}$/.test(name)) return;
      const gone = join(dir, `.removing-${name}`);
      await removeTree(gone);
      if (await stat(join(dir, name)).catch(() => undefined)) await rename(join(dir, name), gone);
      await removeTree(gone);
    },
    async sweep(template) {
      for (const name of await readdir(dir).catch(() => [])) {
        if (name.startsWith(`.building-${template}-`)) await removeTree(join(dir, name));
      }
    },
  };
}

/** `rm` of the system: it stays on one file system, should a build have died with something mounted inside. */
async function removeTree(path: string): Promise<void> {
  if (!(await stat(path).catch(() => undefined))) return;
  const { code } = await run('rm', ['-rf', '--one-file-system', path], { timeoutMs: 600_000 });
  if (code !== 0) await rm(path, { recursive: true, force: true });
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
