import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs the machine's ffmpeg to make a recording for a test. */
export function ffmpeg(...args: string[]): Buffer {
  return execFileSync('ffmpeg', ['-nostdin', '-hide_banner', '-loglevel', 'error', '-y', ...args], {
    maxBuffer: 256 * 1024 * 1024,
  });
}

/** Bursts of 100 ms begin at `firstMs` and then every `everyMs`; between them is all but silence. */
export const bursts = { firstMs: 3_137, everyMs: 7_000, lengthMs: 100 };

/** Makes the bursts as a WAV of so many seconds. */
export function makeBursts(folder: string, seconds: number): string {
  const file = join(folder, 'bursts.wav');
  const phase = `mod(t-${bursts.firstMs / 1000}+700\\,${bursts.everyMs / 1000})`;
  const tone = `if(lt(${phase}\\,${bursts.lengthMs / 1000})\\,0.8*sin(2*PI*1000*t)\\,0.0005*sin(2*PI*97*t))`;
  ffmpeg('-f', 'lavfi', '-i', `aevalsrc='${tone}':s=44100:d=${seconds}`, '-ac', '2', file);
  return file;
}

const samples = ['-f', 's16le', '-ac', '1', '-ar', '16000'];

/** When each burst begins in a file, milliseconds: where its samples first reach a fifth of full scale. */
export const burstsIn = (file: string, ...options: string[]): number[] =>
  burstsOf(ffmpeg(...options, '-i', file, ...samples, '-'));

/** The same of several files, by one program. */
export function burstsInEach(files: readonly string[]): number[][] {
  const outputs = files.flatMap((file, n) => ['-map', `${n}:a`, ...samples, `${file}.samples`]);
  ffmpeg(...files.flatMap((file) => ['-i', file]), ...outputs);
  return files.map((file) => burstsOf(readFileSync(`${file}.samples`)));
}

function burstsOf(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    if (Math.abs(bytes.readInt16LE(at)) < 6_500) continue;
    found.push(at / 32);
    // To the middle between two.
    at += 32 * Math.round(bursts.everyMs / 2);
  }
  return found;
}

/** Programs of a recording, and what starts them. */
const ofMedia = /^(?:ffmpeg|ffprobe|bwrap|nice|prlimit|setpriv)$/;

/** The numbers of such processes that descend from this one. */
export function descendants(): number[] {
  const parents = new Map<number, number>();
  const found: number[] = [];
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid=,comm='], { encoding: 'utf8' }).trim().split('\n');
  for (const line of listed) {
    const [pid = '', parent = '', name = ''] = line.trim().split(/\s+/);
    parents.set(Number(pid), Number(parent));
    if (ofMedia.test(name)) found.push(Number(pid));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && parent > 1 && isOurs(parent));
  };
  return found.filter(isOurs);
}

/** A WAV header for so many bytes of one channel of 16 bits at 8 kHz. */
export function wavHeader(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(Math.min(bytes + 36, 0xffff_ffff), 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(Math.min(bytes, 0xffff_ffff), 40);
  return head;
}

/** Makes a QuickTime file out of a silent one whose samples are, as it says, in another file. */
export function withReference(file: string, path: string): Buffer {
  const bytes = readFileSync(file);
  const own = bytes.indexOf(Buffer.from('\0\0\0\x0curl \0\0\0\x01', 'latin1'));
  if (own < 0) throw new Error('the file does not say where its samples are');
  const name = Buffer.from(path.length % 2 === 0 ? path : `${path}\0`);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(path.length);
  const volume = Buffer.concat([Buffer.alloc(10), Buffer.from([3]), Buffer.alloc(27, 'vol'), Buffer.alloc(12)]);
  const title = Buffer.concat([Buffer.from([1]), Buffer.alloc(63, 'f'), Buffer.alloc(16), Buffer.from([0, 1, 0, 1])]);
  const absolute = Buffer.concat([
    Buffer.alloc(16),
    Buffer.from([0, 2]),
    length,
    name,
    Buffer.from([0xff, 0xff, 0, 0]),
  ]);
  const body = Buffer.concat([volume, title, absolute]);
  const head = Buffer.alloc(12);
  head.writeUInt32BE(head.length + body.length);
  head.write('alis', 4);
  const more = head.length + body.length - 12;
  for (const atom of ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref']) {
    const at = bytes.lastIndexOf(atom, own) - 4;
    bytes.writeUInt32BE(bytes.readUInt32BE(at) + more, at);
  }
  return Buffer.concat([bytes.subarray(0, own), head, body, bytes.subarray(own + 12)]);
}
