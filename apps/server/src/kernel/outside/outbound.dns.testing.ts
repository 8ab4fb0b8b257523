import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';

/** The type of a question. */
type RecordType = 'A' | 'AAAA';

/** The answers for a name: addresses, or names that it stands for (CNAME); `nth` counts the questions of a type from 1. */
export type DnsAnswers = readonly string[] | ((nth: number, type: RecordType) => readonly string[]);

/** A name server of a test. */
export interface TestDns extends AsyncDisposable {
  /** For `resolvePublicAt`. */
  readonly address: string;
  /** How often a name was asked for; without a type: for either. Without a name: all questions. */
  asked(name?: string, type?: RecordType): number;
}

const typeNumbers = { A: 1, CNAME: 5, AAAA: 28 } as const;
const noSuchName = 3;

/** Starts a name server over UDP on this machine. A name that is not in the table does not exist. */
export async function testDns(names: Readonly<Record<string, DnsAnswers>>): Promise<TestDns> {
  const questions: { name: string; type: RecordType }[] = [];
  const count = (name?: string, type?: RecordType): number =>
    questions.filter((one) => (name ?? one.name) === one.name && (type ?? one.type) === one.type).length;
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = questionOf(message);
    if (type) questions.push({ name, type });
    const records = type ? recordsOf(names, name, type, count(name, type)) : [];
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(0x8180 | (name in names ? 0 : noSuchName), 2);
    // One question, the answers, nothing of authorities and extensions.
    [1, records.length, 0, 0].forEach((value, at) => header.writeUInt16BE(value, 4 + 2 * at));
    socket.send(Buffer.concat([header, message.subarray(12, end), ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: count,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionOf(message: Buffer): { name: string; type: RecordType | undefined; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const number = message.readUInt16BE(at + 1);
  const type = number === typeNumbers.A ? 'A' : number === typeNumbers.AAAA ? 'AAAA' : undefined;
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 };
}

/** The records of a name, and of what it stands for, as a recursive server gives them in one answer. */
function recordsOf(names: Readonly<Record<string, DnsAnswers>>, name: string, type: RecordType, nth: number): Buffer[] {
  const answers = names[name] ?? [];
  return (typeof answers === 'function' ? answers(nth, type) : answers).flatMap((answer) => {
    const family = isIP(answer);
    if (family === 0) return [record(name, 'CNAME', nameBytes(answer)), ...recordsOf(names, answer, type, nth)];
    if ((family === 4) !== (type === 'A')) return [];
    return [record(name, type, family === 4 ? Buffer.from(answer.split('.').map(Number)) : bytesOf6(answer))];
  });
}

function record(name: string, type: keyof typeof typeNumbers, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(typeNumbers[type], 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), fixed, data]);
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function bytesOf6(address: string): Buffer {
  return Buffer.from(
    groupsOf6(address)
      .map((group) => group.toString(16).padStart(4, '0'))
      .join(''),
    'hex',
  );
}

/** The eight numbers of an IPv6 address; the URL class turns an ending such as `127.0.0.1` into two of them. */
export function groupsOf6(address: string): number[] {
  const [head, tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (part = ''): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [first, last] = [numbers(head), numbers(tail)];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
