import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { isPublicAddress, resolvePublicAt } from '@svc/netguard';
import { systemClock } from '../base/clock.ts';
import { type DnsAnswers, groupsOf6, type TestDns, testDns } from './outbound.dns.testing.ts';
import { createOutbound, type Outbound, OutboundError } from './outbound.ts';

// From the registries of special addresses at IANA and from accounts of attacks, not from our own lists.

/** No stranger's server is in one of these. */
const closedRanges = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24',
  '203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32',
  '::/128 ::1/128 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64',
  '2001::/32 2001:2::/48 2001:10::/28 2001:20::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 4000::/3',
  '5f00::/16 8000::/3 e000::/4 fc00::/7 fd00::/8 fe80::/10 fec0::/10 ff00::/8',
].flatMap((ranges) => ranges.split(' '));

/** The first, the middle and the last address of a range. */
function ends(range: string): string[] {
  const [base = '', bits = ''] = range.split('/');
  const [groups, width] = isIP(base) === 6 ? [groupsOf6(base), 16n] : [base.split('.').map(Number), 8n];
  const first = groups.reduce((sum, group) => (sum << width) | BigInt(group), 0n);
  const count = 1n << (BigInt(groups.length) * width - BigInt(bits));
  return [...new Set([first, first + count / 2n, first + count - 1n])].map((value) => {
    const part = (at: number) => Number((value >> (width * BigInt(groups.length - 1 - at))) & ((1n << width) - 1n));
    return groups.map((_, at) => part(at).toString(width === 16n ? 16 : 10)).join(width === 16n ? ':' : '.');
  });
}

const urlOf = (address: string): string => `http://${isIP(address) === 6 ? `[${address}]` : address}:PORT/`;
const hosts = (text: string): string[] => text.split(' ').map((host) => `http://${host}:PORT/`);
const ofThisMachine = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .map(({ address }) => address)
  .filter((address) => !isPublicAddress(address));

/** Told by their text alone: no name server is asked. PORT is the canary's, and allowed. */
const byText: Record<string, string[]> = {
  'literals in closed ranges': closedRanges.flatMap(ends).map(urlOf),
  'addresses of this machine': [...new Set(ofThisMachine)].map(urlOf),
  'spellings of IPv4': hosts(
    '127.1 127.0.1 2130706433 0x7f000001 0x7F.0x0.0x0.0x1 0177.0.0.1 0177.1 017700000001 00000177.0.0.01 0x7f.1 ' +
      '127.0.0.1. 127.000.000.001 0 0. 00 0x0 0x 0x.0x.0x.0x 4294967295 0xffffffff 037777777777 2852039166 ' +
      '0xa9fea9fe 0251.0376.0251.0376 0xa9.254.0251.254 169.254.43518 3232235777 0xc0a80101 10.1 172.16.1 ' +
      '127。0。0。1 127．0．0．1 127｡0｡0｡1 １２７.０.０.１ １２７。０．０｡１ ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 ０ｘ７ｆ.1 %31%32%37.0.0.1 127%2e0%2e0%2e1 ' +
      '256.0.0.1 127.0.0.0.1 1.2.3.4.5 4294967296 0x100000000 08.8.8.8 127.0.0.1%00.public.test',
  ),
  'spellings of IPv6': hosts(
    '[::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [0::1] [0:0::0:1] [::0.0.0.1] [::] ' +
      '[0:0:0:0:0:0:0:0] [::0.0.0.0] [::ffff:127.0.0.1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:0:127.0.0.1] ' +
      '[::127.0.0.1] [::7f00:1] [::ffff:a9fe:a9fe] [::ffff:8.8.8.8] [64:ff9b::127.0.0.1] [64:ff9b::8.8.8.8] ' +
      '[64:ff9b::a9fe:a9fe] [64:ff9b:1::10.0.0.1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:808:808::1] ' +
      '[2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001:0:7f00:1::] [fd00:ec2::254] [fe80::1] [fe80::1%25lo] [fe80::1%lo] ' +
      '[fe80::1%251] [::1%25lo] [::1%lo] [fe80::5efe:127.0.0.1] [ff02::1] [ff05::1:3] [::1 ::1] [::1]] [[::1]] [:::1] ' +
      '[1::2::3] [0:0:0:0:0:0:0:0:1] [::g] [] [::ffff:127.0.0.1.] [::ffff:0x7f.0.0.1] [v1.::1] ::1 ::ffff:127.0.0.1',
  ),
  names: hosts(
    'localhost LOCALHOST localhost. LocalHost. localhost.. .localhost a.localhost a.b.LOCALHOST. ｌocalhost ' +
      'ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ℓocalhost localhoſt loc\u00adalhost loc\u200balhost loc%61lhost localhost%2e a。localhost ' +
      'router ip6-localhost ip6-loopback kubernetes metadata broadcasthost intranet. xn--ls8h com ' +
      'printer.local PRINTER.Local. a.b.local a．ｌｏｃａｌ metadata.google.internal Metadata.Google.INTERNAL. ' +
      'host.docker.internal instance-data.ec2.internal a.ｉｎｔｅｒｎａｌ internal local a..test ..',
  ),
  'users and other tricks of spelling': [
    'http://user@public.test:PORT/',
    'http://user:pass@public.test/',
    'http://:pass@public.test/',
    'http://%20@public.test/',
    'http://public.test@127.0.0.1:PORT/',
    'http://public.test:80@127.0.0.1:PORT/',
    'http://public.test%40127.0.0.1:PORT/',
    'http://a@b@127.0.0.1:PORT/',
    'http://127.0.0.1:PORT#@public.test/',
    'http://127.0.0.1:PORT?@public.test/',
    'http://127.0.0.1:PORT\\@public.test/',
    'http://127.0.0.1:PORT\\.public.test/',
    'http:127.0.0.1:PORT/',
    'http:/127.0.0.1:PORT/',
    'http:\\\\127.0.0.1:PORT\\',
    'http:////127.0.0.1:PORT/',
    'HtTp://127.0.0.1:PORT/',
    ' \u0000\thttp://127.0.0.1:PORT/ ',
    'ht\ntp://127.0.0.1:PORT/',
    'http://127.\t0.0.1:PORT/',
    'http://127.0.\r\n0.1:PORT/',
    'http://loc\talhost:PORT/',
    'http://[:\n:1]:PORT/',
    'http://127.0.0.1 .public.test:PORT/',
    'http://public.test 127.0.0.1:PORT/',
    'http://public.test%00@127.0.0.1:PORT/',
    'http://public.test%0d%0aHost:127.0.0.1/',
    'http://public.test<127.0.0.1/',
    '//127.0.0.1:PORT/',
    '/\\127.0.0.1:PORT/',
    '127.0.0.1:PORT',
    'http://',
    'http:///',
    'http://:PORT/',
    'http://@/',
    'http://[::1',
    '?',
    '',
  ],
  schemes: (
    'file:///etc/passwd file://127.0.0.1/etc/passwd FILE:/etc/passwd ftp://public.test/ ftp://127.0.0.1:PORT/ ' +
    'gopher://127.0.0.1:PORT/_x dict://127.0.0.1:PORT/d ldap://127.0.0.1:PORT/ tftp://127.0.0.1:PORT/x ' +
    'ws://127.0.0.1:PORT/ wss://public.test/ data:text/html,x javascript:alert(1) blob:http://127.0.0.1:PORT/x ' +
    'unix:/var/run/docker.sock http+unix://%2Fvar%2Frun%2Fdocker.sock/ jar:http://127.0.0.1:PORT/!/x ' +
    'view-source:http://127.0.0.1:PORT/ about:blank mailto:a@public.test node:fs httpx://public.test/ netdoc:///etc/passwd'
  ).split(' '),
  ports: '0 1 21 22 25 81 444 3306 5432 6379 8080 8443 9200 11211 65535 65536 00022 -80 8o'
    .split(' ')
    .flatMap((port) => [`http://public.test:${port}/`, `https://public.test:${port}/`]),
};

const publicOnes = Array.from({ length: 30 }, (_, at) => `8.8.${at}.8`);

/** Names whose answers tell. Every range has one; then mixtures and names that stand for others. */
const closedNames: Record<string, DnsAnswers> = {
  ...Object.fromEntries(closedRanges.map((range, at) => [`range-${at}.test`, ends(range).slice(-1)])),
  'loop.test': ['127.0.0.1'],
  'loop6.test': ['::1'],
  'both.test': ['127.0.0.1', '::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'mapped-public.test': ['::ffff:8.8.8.8'],
  'compatible.test': ['::127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'metadata6.test': ['fd00:ec2::254'],
  'nat64.test': ['64:ff9b::127.0.0.1'],
  '127.0.0.1.nip.test': ['127.0.0.1'],
  'mixed.test': ['8.8.8.8', '10.0.0.1'],
  'private-first.test': ['10.0.0.1', '8.8.8.8'],
  'mixed6.test': ['2606:4700::1111', 'fd00::1'],
  'public4-private6.test': ['8.8.8.8', '::1'],
  'private4-public6.test': ['127.0.0.1', '2606:4700::1111'],
  'public4-mapped6.test': ['8.8.8.8', '::ffff:10.0.0.1'],
  'last-of-many.test': [...publicOnes, '127.0.0.1'],
  'last-of-many6.test': [...publicOnes, ...Array.from({ length: 9 }, (_, at) => `2606:4700::${at + 1}`), '::1'],
  'alias.test': ['loop.test'],
  'far-alias.test': ['second.test'],
  'second.test': ['third.test'],
  'third.test': ['metadata.test'],
  'alias-of-localhost.test': ['localhost'],
  'alias-beside-public.test': ['8.8.8.8', 'loop.test'],
};
const names: Record<string, DnsAnswers> = {
  ...closedNames,
  localhost: ['127.0.0.1', '::1'],
  'public.test': ['8.8.8.8'],
  'start.test': ['127.0.0.1'],
  // Public when it is judged, this machine when it is asked for once more.
  'rebind.test': (nth, type) => (type === 'A' ? [nth === 1 ? '8.8.8.8' : '127.0.0.1'] : nth === 1 ? [] : ['::1']),
  'rebind-hop.test': (nth, type) => (type === 'A' ? [nth === 1 ? '8.8.8.8' : '127.0.0.1'] : []),
};
const byName = Object.keys(closedNames)
  .map((name) => `http://${name}:PORT/`)
  .concat('http://LOOP.test.:PORT/', 'http://ｌoop。test:PORT/', 'https://loop.test/', 'http://loop.test/');

/** Where the allowed host sends its visitors. START is its port: it is there, and still no place for a redirect by address. */
const locations = [
  'http://127.0.0.1:PORT/',
  'http://127.0.0.1:START/',
  'http://[::1]:PORT/',
  'http://0x7f.1:PORT/',
  'http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://a.localhost:START/',
  'http://router:PORT/',
  'http://169.254.169.254/latest/meta-data/',
  'http://metadata.google.internal/',
  'http://loop.test:PORT/',
  'http://mixed.test:PORT/',
  'http://far-alias.test:PORT/',
  'http://start.test:22/',
  'https://start.test:6379/',
  'http://user@start.test:START/',
  'http://start.test@127.0.0.1:PORT/',
  '//127.0.0.1:PORT/',
  '//localhost/',
  '\\\\127.0.0.1:PORT\\',
  'http:\\\\[::1]:PORT',
  'file:///etc/passwd',
  'ftp://start.test/',
  'gopher://127.0.0.1:PORT/_x',
  'javascript:alert(1)',
  'data:text/html,x',
  'ws://127.0.0.1:PORT/',
];
const statuses = [301, 302, 303, 307, 308];

describe('outbound: the corpus of addresses', () => {
  const messages = new Set<string>();
  let connections = 0;
  let expected = 0;
  /** On every address of this machine. */
  const canary = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).destroy();
  });
  const requests: string[] = [];
  /** `/<status>/<hops>?<location>` sends on: to itself as often as `hops` says, then there. */
  const start = createServer((request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    const [, status = '', hops = ''] = /^\/(\d+)\/(\d+)\?/.exec(path) ?? [];
    if (status === '') {
      response.end('there');
      return;
    }
    const wanted = decodeURIComponent(path.slice(path.indexOf('?') + 1));
    const next = `/${status}/${Number(hops) - 1}?${encodeURIComponent(wanted)}`;
    response.writeHead(Number(status), { location: hops === '0' ? wanted : next }).end();
  });
  let dns: TestDns;
  let outbound: Outbound;
  let port = 0;
  let startPort = 0;
  const filled = (text: string): string => text.replaceAll('PORT', String(port)).replaceAll('START', String(startPort));

  before(async () => {
    dns = await testDns(names);
    await once(canary.listen(0), 'listening');
    await once(start.listen(0, '127.0.0.1'), 'listening');
    port = (canary.address() as AddressInfo).port;
    startPort = (start.address() as AddressInfo).port;
    const resolve = resolvePublicAt([dns.address]);
    const rules = { fetchAllowHosts: ['start.test'], fetchPorts: [80, 443, port, startPort] };
    outbound = createOutbound(rules, systemClock, { public: resolve, here: resolve });
  });
  after(async () => {
    canary.close();
    start.closeAllConnections();
    start.close();
    await dns[Symbol.asyncDispose]();
  });

  async function refuses(url: string): Promise<void> {
    for (const work of [outbound.check(url), outbound.request(url)]) await refusal(work, url);
  }
  async function refusal(work: Promise<unknown>, what: string): Promise<void> {
    const error: unknown = await work.then(
      () => 'it was answered',
      (fault: unknown) => fault,
    );
    assert.ok(error instanceof OutboundError && error.kind === 'refused', `${what}: ${String(error)}`);
    messages.add(error.message);
  }
  const quiet = (): void => {
    assert.equal(connections, expected, 'the canary was reached');
    assert.deepEqual([...messages].slice(1), [], 'one message for all');
  };

  test('the canary hears whoever connects to this machine', async () => {
    for (const host of ['127.0.0.1', ...ofThisMachine.filter((address) => address === '::1')]) {
      const heard = once(canary, 'connection');
      connect({ host, port }).on('error', () => {});
      await heard;
      expected += 1;
    }
    quiet();
  });

  for (const [group, urls] of Object.entries(byText)) {
    test(`${group}: ${urls.length} are refused by their text, no name server is asked`, async () => {
      const asked = dns.asked();
      for (const url of new Set(urls.map(filled))) await refuses(url);
      assert.equal(dns.asked(), asked);
      quiet();
    });
  }

  test(`names with closed answers: ${byName.length} are refused by what their name server says`, async () => {
    for (const url of byName.map(filled)) await refuses(url);
    assert.ok(dns.asked('loop.test', 'A') > 0 && dns.asked('loop.test', 'AAAA') > 0);
    quiet();
  });

  test(`redirects: ${locations.length} places are refused, and ${statuses.length} statuses and chains of hops change nothing`, async () => {
    const ways = locations.map((location) => ({ location, status: 302, hops: 0 }));
    for (const location of locations.slice(0, 3).concat('//localhost/', 'http://loop.test:PORT/')) {
      ways.push(...statuses.map((status) => ({ location, status, hops: 0 })), { location, status: 307, hops: 4 });
    }
    for (const { location, status, hops } of ways) {
      requests.length = 0;
      const wanted = encodeURIComponent(filled(location));
      await refusal(outbound.request(`http://start.test:${startPort}/${status}/${hops}?${wanted}`), location);
      assert.equal(requests.length, hops + 1, location);
    }
    quiet();
  });

  test('a redirect to where its host stands is followed, so that the others are refused for where they lead', async () => {
    for (const location of ['/there', `//start.test:${startPort}/there`, `http://START.test.:${startPort}/there`]) {
      const url = `http://start.test:${startPort}/302/2?${encodeURIComponent(location)}`;
      assert.equal(String((await outbound.request(url)).body), 'there', location);
    }
  });

  test('a name is asked for once a hop, and connected to where it was judged, whatever it answers later', async () => {
    const unanswered = async (url: string): Promise<void> => {
      const error: unknown = await outbound.request(url, { timeoutMs: 1_500 }).catch((fault: unknown) => fault);
      assert.ok(error instanceof OutboundError && error.kind !== 'refused', String(error));
    };
    await unanswered(`http://rebind.test:${port}/`);
    assert.deepEqual([dns.asked('rebind.test', 'A'), dns.asked('rebind.test', 'AAAA')], [1, 1]);
    quiet();
    await refuses(`http://rebind.test:${port}/`);

    const before = dns.asked('start.test', 'A');
    const wanted = encodeURIComponent(`http://rebind-hop.test:${port}/`);
    await unanswered(`http://start.test:${startPort}/302/2?${wanted}`);
    assert.equal(dns.asked('start.test', 'A') - before, 3);
    assert.equal(dns.asked('rebind-hop.test', 'A'), 1);
    quiet();
    await refusal(outbound.request(`http://start.test:${startPort}/302/0?${wanted}`), 'its second answer');
    quiet();
  });

  test('the corpus has 150 addresses and more', () => {
    const count = new Set([...Object.values(byText).flat(), ...byName, ...locations]).size;
    assert.ok(count >= 150, String(count));
  });
});
