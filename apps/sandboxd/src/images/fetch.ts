import { open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Template, templateNames } from '@svc/contract';
import { type ArchiveHeader, checkContent, headerBytes, parseHeader } from './archive.ts';
import { checkAddress, download, megabytes, Missing, nameOf } from './download.ts';
import type { Image } from '../parts.ts';
import type { ImageShelf } from './images.ts';
import { isSignedBy, readPublicKey } from './signature.ts';

/** From where an image is fetched, and whose it must be. */
interface FetchOptions {
  /** Default: as the name of the file says, else `svc-base`. */
  template?: Template | undefined;
  /** The public key that the file must be signed with; never one that the file brings. */
  key: string;
  allowHosts: readonly string[];
  ports: readonly number[];
  signal?: AbortSignal;
  /** Hears how many bytes are here, and of how many where that is known. */
  onProgress?: (have: number, total: number | undefined) => void;
  /** Throws when no sandbox starts from the root file system. */
  tryOut?: (rootfs: string) => Promise<void>;
  /** As of `download`. */
  waitsMs?: readonly number[];
}

/** The largest, desktop, is 0.5 GB as a file: room for one eight times as large, and none for a stream without an end. */
const mostBytes = 4 * 1024 ** 3;

/** The name of an exported image in a folder that serves many versions and processors. */
export const imageName = (template: Template, recipe: string): string => `${template}-${recipe}.image`;

/**
 * Fetches an image: from the address of a file (its path ends with `.image`), or from a folder, in which it has the name that
 * `imageName` gives. Nothing is unpacked before the key has signed the header and the content has the digest that was signed;
 * when anything fails, nothing stays, and the reason is one sentence.
 */
export async function fetchImage(shelf: ImageShelf, address: string, options: FetchOptions): Promise<Image> {
  if (!URL.canParse(address)) throw new Error(`${address} is no address; it begins with https:`);
  const given = new URL(address);
  checkAddress(given, options.allowHosts);
  const key = readPublicKey(options.key);
  const name = options.template ?? templateIn(given.pathname) ?? 'svc-base';
  const there = shelf.get(name);
  if (there) return there;
  const url = fileIn(given, imageName(name, shelf.recipe(name)));
  const check = (header: ArchiveHeader): void => {
    if (!isSignedBy(header, key)) throw new Error(`${nameOf(url)} is not signed with the key ${options.key}`);
    if (header.template !== name) throw new Error(`${nameOf(url)} has an image ${header.template}, not ${name}`);
    if (header.recipe === shelf.recipe(name)) return;
    throw new Error(`${nameOf(url)} has an image ${name} of another version; it must be exported with this one`);
  };
  const tryOut = async (rootfs: string): Promise<void> => {
    options.signal?.throwIfAborted();
    await options.tryOut?.(rootfs);
    options.signal?.throwIfAborted();
  };
  try {
    return await shelf.receive(name, (file, tell) => receive(url, file, { ...options, check, tell }), tryOut);
  } catch (error) {
    if (options.signal?.aborted) throw new Error('stopped; nothing of the image was kept', { cause: error });
    if (!(error instanceof Error && error.cause instanceof Missing) || url === given) throw error;
    const command = `./svc images export ${name} --to-folder <folder> --sign-key <file>`;
    throw new Error(`${error.message}: this version needs it, and there it is made with ${command}`, { cause: error });
  }
}

/** Writes a file of an address to the disk, and has its header judged before the rest of it is fetched. */
async function receive(
  url: URL,
  file: string,
  options: FetchOptions & {
    check: (header: ArchiveHeader) => void;
    tell: (progress: number, step: string) => void;
  },
): Promise<ArchiveHeader> {
  const { chunks, total } = download(url, { ...options, mostBytes });
  let header: ArchiveHeader | undefined;
  let head = Buffer.alloc(0);
  let have = 0;
  const output = await open(file, 'wx', 0o600);
  const judgeHead = async (): Promise<void> => {
    header = parseHeader(head, nameOf(url));
    options.check(header);
    await checkRoom(dirname(file), (total() ?? 0) + header.bytes);
  };
  try {
    for await (const chunk of chunks) {
      have += chunk.length;
      if (!header) {
        head = Buffer.concat([head, chunk]);
        if (head.length >= headerBytes) await judgeHead();
      }
      await output.writeFile(chunk);
      options.onProgress?.(have, total());
      const all = total();
      options.tell(all ? (0.8 * have) / all : 0, `fetching it, ${megabytes(have)} so far`);
    }
    if (!header) await judgeHead();
    await output.sync();
  } finally {
    await output.close();
  }
  if (!header) throw new Error(`${nameOf(url)} is empty`);
  await checkContent(file, header, nameOf(url));
  options.tell(0.9, 'unpacking it');
  return header;
}

/** Before hundreds of megabytes are fetched: whether they and what is unpacked from them have room. */
async function checkRoom(dir: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  if (bavail * bsize >= needed) return;
  throw new Error(`the image needs ${megabytes(needed)} of disk, and ${dirname(dir)} has ${megabytes(bavail * bsize)}`);
}

/** The template that the name of a file tells, as `imageName` writes it. */
function templateIn(path: string): Template | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return templateNames.find((template) => new RegExp(`^${template}-[0-9a-f]{64}\\.image$`).test(name));
}

/** The address itself where it is that of a file, else that of the file in its folder; a query stays. */
function fileIn(given: URL, name: string): URL {
  if (given.pathname.endsWith('.image')) return given;
  const url = new URL(given);
  url.pathname = `${given.pathname.replace(/\/+$/, '')}/${name}`;
  return url;
}
