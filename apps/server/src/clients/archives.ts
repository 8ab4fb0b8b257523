import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** A file of an archive. */
export interface ArchivedFile {
  /** With `/`. */
  readonly path: string;
  readonly bytes: Buffer;
}

/** 1985-10-26, as npm packs: the same files are the same bytes, whenever they are packed. */
const tarSeconds = 499_162_500;
const block = 512;

/** Files as `.tar.gz` (ustar). */
export function tarball(files: readonly ArchivedFile[]): Buffer {
  const parts = files.flatMap(({ path, bytes }) => [
    tarHeader(path, bytes.length),
    bytes,
    Buffer.alloc((block - (bytes.length % block)) % block),
  ]);
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * block)]), { level: 9 });
}

function tarHeader(path: string, length: number): Buffer {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for a tar header`);
  const header = Buffer.alloc(block);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7) + octal(0, 7), 108);
  header.write(octal(length, 11) + octal(tarSeconds, 11), 124);
  // The sum is that of a header whose own field is blank.
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** 1980-01-01, the first day that a zip can name. */
const zipDate = 0x21;
/** Version 2.0; names are UTF-8. */
const zipHead = { version: 20, flags: 0x800, deflated: 8, unix: 3 << 8, mode: 0o100644 };

/** Files as `.zip`. */
export function zip(files: readonly ArchivedFile[]): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const { path, bytes } of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes, { level: 9 });
    // What both headers say alike: how it is packed, when, its sum, its lengths.
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(zipHead.version, 0);
    shared.writeUInt16LE(zipHead.flags, 2);
    shared.writeUInt16LE(zipHead.deflated, 4);
    shared.writeUInt16LE(zipDate, 8);
    shared.writeUInt32LE(crc32(bytes), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(bytes.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, name, packed]);
    const made = Buffer.alloc(2);
    made.writeUInt16LE(zipHead.unix | zipHead.version);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(zipHead.mode * 0x10000, 6);
    rest.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), made, shared, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
