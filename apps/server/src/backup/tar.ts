import { CommandError } from '../kernel/base/command-error.ts';

/** An entry of a tar; a name that ends in `/` is a folder. */
export interface TarEntry {
  readonly name: string;
  readonly bytes: number;
  /** Has to be read to its end before the next entry. */
  readonly body: AsyncIterable<Buffer>;
}

const block = 512;
/** More than this is no name of ours. */
const longestName = 1_024;
/** Eleven octal digits; a longer one has its size in binary, as GNU and POSIX tars have. */
const mostOctal = 8 * 1024 ** 3 - 1;

/** The end of a tar. */
export const tarEnd = Buffer.alloc(2 * block);

/** Fills the last block of an entry up. */
export const paddingOf = (bytes: number): Buffer => Buffer.alloc((block - (bytes % block)) % block);

/** The header of an entry, with a PAX record before it when the name is too long for ustar. */
export function tarHeader(name: string, bytes: number, seconds: number): Buffer {
  if (Buffer.byteLength(name) <= 100) return header(name, bytes, seconds, name.endsWith('/') ? '5' : '0');
  const record = paxRecord('path', name);
  const long = header('PaxHeaders/name', record.length, seconds, 'x');
  return Buffer.concat([long, record, paddingOf(record.length), header(name.slice(-50), bytes, seconds, '0')]);
}

function header(name: string, bytes: number, seconds: number, type: '0' | '5' | 'x'): Buffer {
  const head = Buffer.alloc(block);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  head.write(name, 0, 100);
  head.write(octal(type === '5' ? 0o700 : 0o600, 7) + octal(0, 7) + octal(0, 7), 100);
  head.write(octal(Math.min(bytes, mostOctal), 11) + octal(seconds, 11), 124);
  if (bytes > mostOctal) {
    head.fill(0, 124, 136).writeUInt8(0x80, 124);
    head.writeBigUInt64BE(BigInt(bytes), 128);
  }
  // The sum is that of a header whose own field is blank.
  head.write(`        ${type}`, 148);
  head.write('ustar\x0000', 257);
  head.write(`${sumOf(head).toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

const sumOf = (head: Buffer): number => head.reduce((total, byte) => total + byte, 0);

/** `<length> path=<name>\n`; the length counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  const digits = `${rest + `${rest}`.length}`.length;
  return Buffer.from(`${rest + digits} ${key}=${value}\n`);
}

const damaged = (): CommandError => new CommandError('the file is damaged: it is not what svc backup wrote');

/** Reads what `tarHeader` wrote. Throws `CommandError` for anything else, and where the tar ends early. */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const bytes = new Bytes(source);
  for (;;) {
    const head = await bytes.exactly(block);
    if (head.every((byte) => byte === 0)) {
      // Nothing may stand behind the end.
      if (!(await bytes.exactly(block)).every((byte) => byte === 0) || !(await bytes.isOver())) throw damaged();
      return;
    }
    let { name, size, type } = fieldsOf(head);
    if (type === 'x') {
      if (size > 2 * longestName) throw damaged();
      const record = await bytes.exactly(size);
      await bytes.exactly(paddingOf(size).length);
      name = /^\d+ path=(.+)\n$/s.exec(record.toString())?.[1] ?? '';
      ({ size, type } = fieldsOf(await bytes.exactly(block)));
    }
    if ((type !== '0' && type !== '5') || name === '' || name.length > longestName) throw damaged();
    const body = bytes.some(size);
    yield { name, bytes: size, body };
    await body.next().then(({ done }) => {
      if (done !== true) throw new Error(`${name} was not read to its end`);
    });
    await bytes.exactly(paddingOf(size).length);
  }
}

function fieldsOf(head: Buffer): { name: string; size: number; type: string } {
  const text = (from: number, to: number): string => head.toString('utf8', from, to).replace(/\0.*$/s, '');
  const sum = Number.parseInt(text(148, 156), 8);
  const blank = Buffer.from(head).fill(' ', 148, 156);
  if (sum !== sumOf(blank)) throw damaged();
  return { name: text(0, 100), size: sizeOf(head, text(124, 136)), type: text(156, 157) };
}

function sizeOf(head: Buffer, octal: string): number {
  if (head[124] === 0x80) return Number(head.readBigUInt64BE(128));
  if (!/^[0-7]{1,11}$/.test(octal)) throw damaged();
  return Number.parseInt(octal, 8);
}

/** Takes bytes from a source in the sizes that are asked for. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async isOver(): Promise<boolean> {
    return !(await this.#more());
  }

  async exactly(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.some(count)) parts.push(part);
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  async *some(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0; ) {
      if (!(await this.#more())) throw new CommandError('the file is cut off: its end is missing');
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** False at the end of the source. */
  async #more(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next();
      if (done === true) return false;
      this.#rest = value;
    }
    return true;
  }
}
