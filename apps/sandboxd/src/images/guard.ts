import { Transform, type TransformCallback } from 'node:stream';

const block = 512;
/** The largest image has 150,000 entries. */
const mostEntries = 500_000;
const mostBytes = 16 * 1024 ** 3;
const longestName = 4_096;

type Kind = 'directory' | 'file' | 'link';

/**
 * Passes on a tar of an image (GNU format) and fails at the first thing in it that an export does not make: a name that
 * leads out, an entry below a link or below nothing, a second one of a name, a device, a pipe, a link to what is not there
 * yet, more than any image has, bytes after the end. What comes through unpacks below one directory.
 */
export class TarGuard extends Transform {
  readonly #seen = new Map<string, Kind>();
  #pending = Buffer.alloc(0);
  /** Bytes of an entry, with what fills its last block, that are still to come. */
  #left = 0;
  /** A name that is longer than a header: what was read of it, and of which kind it is. */
  #long: { kind: 'L' | 'K'; size: number; parts: Buffer[] } | undefined;
  #name: string | undefined;
  #target: string | undefined;
  #zeros = 0;
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.#bytes += chunk.length;
      if (this.#bytes > mostBytes) throw refused('more than 16 GiB');
      this.#read(chunk);
      done(null, chunk);
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    const isWhole = this.#zeros >= 2 && this.#pending.length === 0 && this.#left === 0;
    done(isWhole ? null : refused('no end'));
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left > 0) {
        const part = rest.subarray(0, this.#left);
        this.#long?.parts.push(Buffer.from(part));
        this.#left -= part.length;
        rest = rest.subarray(part.length);
        if (this.#left === 0) this.#keepLong();
        continue;
      }
      const wanted = block - this.#pending.length;
      this.#pending = Buffer.concat([this.#pending, rest.subarray(0, wanted)]);
      rest = rest.subarray(wanted);
      if (this.#pending.length < block) return;
      const header = this.#pending;
      this.#pending = Buffer.alloc(0);
      this.#header(header);
    }
  }

  #header(header: Buffer): void {
    if (header.every((byte) => byte === 0)) {
      this.#zeros += 1;
      return;
    }
    if (this.#zeros > 0) throw refused('something after its end');
    if (header.toString('latin1', 257, 265) !== 'ustar  \0') throw refused('another format');
    if (checksumOf(header) !== octal(header, 148, 8)) throw refused('a damaged header');
    const type = String.fromCharCode(header[156] ?? 0);
    const size = octal(header, 124, 12);
    this.#left = Math.ceil(size / block) * block;
    if (type === 'L' || type === 'K') {
      if (size > longestName) throw refused('a name that is too long');
      this.#long = { kind: type, size, parts: [] };
      return;
    }
    const name = this.#name ?? textOf(header, 0, 100);
    const target = this.#target ?? textOf(header, 157, 100);
    this.#name = undefined;
    this.#target = undefined;
    this.#entry(type, plain(name), target, size);
  }

  #keepLong(): void {
    if (!this.#long) return;
    const { kind, size, parts } = this.#long;
    this.#long = undefined;
    const text = textOf(Buffer.concat(parts).subarray(0, size), 0, size);
    if (kind === 'L') this.#name = text;
    else this.#target = text;
  }

  #entry(type: string, name: string, target: string, size: number): void {
    const kinds: Record<string, Kind> = { '0': 'file', '\0': 'file', '1': 'file', '2': 'link', '5': 'directory' };
    const kind = kinds[type];
    if (!kind) throw refused(`something that is no file, directory or link: ${name}`);
    if (type !== '0' && type !== '\0' && size > 0) throw refused(`content where there is none: ${name}`);
    if (this.#seen.has(name)) throw refused(`a second entry ${name}`);
    const parent = name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '.';
    if (name !== '.' && this.#seen.get(parent) !== 'directory')
      throw refused(`${name}, which is in no directory of it`);
    // Two names of one link are two links.
    const real = type === '1' ? this.#seen.get(plain(target)) : kind;
    if (real === undefined || (type === '1' && real === 'directory')) {
      throw refused(`${name}, which is another name of nothing in it`);
    }
    this.#seen.set(name, real);
    if (this.#seen.size > mostEntries) throw refused('too many entries');
  }
}

/** Names are a stranger's: nothing in them acts on a terminal. */
const refused = (what: string): Error =>
  new Error(`this is no archive of an image: it has ${what.replaceAll(/[^\x20-\x7e]/g, '?')}`);

/** A name below the root, without `./` and the last `/`; the root is `.`. */
function plain(name: string): string {
  const parts = name.replace(/\/$/, '').split('/');
  const inner = parts[0] === '.' ? parts.slice(1) : parts;
  if (inner.some((part) => part === '' || part === '.' || part === '..'))
    throw refused(`a name that leads out: ${name}`);
  return inner.length === 0 ? '.' : inner.join('/');
}

function textOf(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('latin1', 0, end < 0 ? length : end);
}

function octal(header: Buffer, start: number, length: number): number {
  const text = textOf(header, start, length).trim();
  if (!/^[0-7]{1,12}$/.test(text)) throw refused('a damaged header');
  return Number.parseInt(text, 8);
}

/** The sum of a header's bytes, its own field taken for spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
}
