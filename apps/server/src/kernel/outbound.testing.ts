import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** Addresses and tricks; PORT is the canary's, and the names are those of `namesOfCorpus`. Every one is refused before anything is connected. */
export const refusedUrls = [
  'http://127.0.0.1:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0.0.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://0x7f.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127。0。0。1:PORT/',
  'http://127．0．0．1:PORT/',
  'http://１２７.０.０.１:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://127%2e0%2e0%2e1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://0.1.2.3:PORT/',
  'http://[::1]:PORT/',
  'http://[::]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[0:0:0:0:0:ffff:7f00:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2001:0:7f00:1::]:PORT/',
  'http://[2001:2::1]:PORT/',
  'http://[2001:10::1]:PORT/',
  'http://[2001:db8::1]:PORT/',
  'http://[3fff::1]:PORT/',
  'http://[100::1]:PORT/',
  'http://[100:0:0:1::1]:PORT/',
  'http://[5f00::1]:PORT/',
  'http://[fc00::1]:PORT/',
  'http://[fd00:ec2::254]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fe80::1%25lo]:PORT/',
  'http://[fe80::1%lo]:PORT/',
  'http://[fec0::1]:PORT/',
  'http://[ff02::1]:PORT/',
  'http://[::1%25lo]:PORT/',
  'http://10.0.0.1:PORT/',
  'http://10.255.255.255:PORT/',
  'http://172.16.0.1:PORT/',
  'http://172.31.255.255:PORT/',
  'http://192.168.1.1:PORT/',
  'http://100.64.0.1:PORT/',
  'http://100.100.100.200:PORT/latest/meta-data/',
  'http://169.254.169.254:PORT/latest/meta-data/',
  'http://2852039166:PORT/latest/meta-data/',
  'http://[::ffff:a9fe:a9fe]:PORT/latest/meta-data/',
  'http://168.63.129.16:PORT/',
  'http://192.0.0.192:PORT/',
  'http://192.0.2.1:PORT/',
  'http://192.88.99.1:PORT/',
  'http://198.18.0.1:PORT/',
  'http://198.51.100.1:PORT/',
  'http://203.0.113.1:PORT/',
  'http://224.0.0.1:PORT/',
  'http://240.0.0.1:PORT/',
  'http://255.255.255.255:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://a.localhost:PORT/',
  'http://a.b.localhost.:PORT/',
  'http://ⓛocalhost:PORT/',
  'http://loc\u00adalhost:PORT/',
  'http://metadata.google.internal:PORT/computeMetadata/v1/',
  'http://printer.local:PORT/',
  'http://router:PORT/',
  'http://a..test:PORT/',
  'http://user@public.test:PORT/',
  'http://user:pass@public.test:PORT/',
  'http://public.test:PORT@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT#@public.test/',
  'http://127.0.0.1:PORT\\@public.test/',
  'http://loop.test:PORT/',
  'http://mapped.test:PORT/',
  'http://mixed.test:PORT/',
  'http://mixed6.test:PORT/',
  'http://metadata.test:PORT/',
  'http://nat64.test:PORT/',
  'http://zone.test:PORT/',
  'http://127.0.0.1.nip.test:PORT/',
  'http://public.test:22/',
  'http://public.test:1/',
  'https://public.test:25/',
  'ftp://public.test/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_x',
  'data:text/plain,x',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  'blob:http://127.0.0.1:PORT/x',
  'ws://127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  'http://',
  'http:///',
  'http://[::1',
  'http://127.0.0.1:99999/',
  'http://0177.0.0.01:PORT/',
  'http://0x7F000001:PORT/',
  'http://127.255.255.255:PORT/',
  'http://10.0.0.0:PORT/',
  'http://172.20.10.2:PORT/',
  'http://192.168.255.255:PORT/',
  'http://100.127.255.255:PORT/',
  'http://169.254.0.1:PORT/',
  'http://192.0.0.8:PORT/',
  'http://192.0.2.255:PORT/',
  'http://198.19.255.255:PORT/',
  'http://198.51.100.255:PORT/',
  'http://203.0.113.255:PORT/',
  'http://239.255.255.255:PORT/',
  'http://[::ffff:10.0.0.1]:PORT/',
  'http://[::ffff:192.168.0.1]:PORT/',
  'http://[::ffff:0:127.0.0.1]:PORT/',
  'http://[64:ff9b::a9fe:a9fe]:PORT/',
  'http://[2002:c0a8:101::1]:PORT/',
  'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]:PORT/',
  'http://[fdff::1]:PORT/',
  'http://[febf::1]:PORT/',
  'http://[ff0e::1]:PORT/',
  'http://[2001:db8:ffff::1]:PORT/',
  'http://[4000::1]:PORT/',
  'http://[e000::1]:PORT/',
  'http://a.internal:PORT/',
  'http://A.B.Internal.:PORT/',
  'http://box.LOCAL:PORT/',
  'http://ｌｏｃａｌｈｏｓｔ:PORT/',
  'http://local\thost:PORT/',
  'http://\tlocalhost:PORT/',
  'http:\\\\127.0.0.1:PORT/',
  'http:/127.0.0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'https://127.0.0.1:PORT/',
  'http://cname.test:PORT/',
  'http://only6.test:PORT/',
  'http://last.test:PORT/',
  'http://this.test:PORT/',
  'http://linklocal6.test:PORT/',
  'http://shared.test:PORT/',
  '',
];

/** What names of the corpus answer; a text that is no address is the name that an alias stands for. */
export const namesOfCorpus: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['198.41.0.4'],
  'mixed.test': ['198.41.0.4', '10.0.0.1'],
  'mixed6.test': ['2606:4700::1111', 'fd00::1'],
  'loop.test': ['127.0.0.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'zone.test': ['fe80::1'],
  'nat64.test': ['64:ff9b::7f00:1'],
  '127.0.0.1.nip.test': ['127.0.0.1'],
  'cname.test': ['loop.test'],
  'only6.test': ['::1'],
  'last.test': [...Array.from({ length: 12 }, (_, n) => `198.41.0.${n + 1}`), '192.168.0.1'],
  'this.test': ['0.0.0.0'],
  'linklocal6.test': ['198.41.0.4', 'fe80::7'],
  'shared.test': ['100.64.0.1'],
};

/** A name server of a test's own. */
export interface NameServer extends AsyncDisposable {
  /** For `SVC_DNS_SERVERS`. */
  readonly address: string;
  /** Names that were asked for, with the type: `A loop.test`. */
  readonly asked: string[];
}

/** What a name answers the first, second, … time that its IPv4 addresses are asked for; an alias's answer is looked up. */
export type Answers = (name: string, time: number) => readonly string[] | undefined;

/** Starts a DNS server on UDP that answers A and AAAA; a name without an answer does not exist. */
export async function openNameServer(answers: Answers): Promise<NameServer> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    if (type !== 1 && type !== 28) return;
    asked.push(`${type === 1 ? 'A' : 'AAAA'} ${name}`);
    const time = asked.filter((line) => line === `A ${name}`).length;
    const records = answers(name, time);
    const found = (records ?? []).flatMap((record) => recordsOf(record, type, answers));
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    // An answer, with recursion; NXDOMAIN for a name that nobody knows.
    head.writeUInt16BE(records ? 0x8580 : 0x8583, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, end), ...found]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** Name and type that a query asks for, and where its question ends. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** The records of an address, or of an alias with what it stands for. The first name is that of the question. */
function recordsOf(value: string, type: number, answers: Answers): Buffer[] {
  const name = Buffer.from([0xc0, 12]);
  if (/[a-z]/.test(value) && !isIPv6(value)) {
    const target = nameBytes(value);
    const addresses = (answers(value, 1) ?? []).flatMap((address) => recordOf(target, address, type) ?? []);
    return [withHead(name, 5, target), ...addresses];
  }
  const record = recordOf(name, value, type);
  return record ? [record] : [];
}

const recordOf = (name: Buffer, address: string, type: number): Buffer | undefined =>
  isIPv6(address) === (type === 28) ? withHead(name, type, addressBytes(address)) : undefined;

/** A record of class IN that nobody may keep. */
function withHead(name: Buffer, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, head, data]);
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  // The URL class spells IPv4 in IPv6 as two groups.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined): number[] =>
    text ? text.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const [head, tail] = [groups(left), groups(right)];
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
