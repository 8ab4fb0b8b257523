import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import { loadConfig } from '../../config.ts';
import { until } from '../../testing.ts';
import { testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { Forwarder } from './forwarder.ts';
import type { AskedName } from './names.ts';
import type { NameOwner, NameTarget, PlainAnswer } from './owners.ts';

/** An owner of names such as `3000--blog`, whose pages tell what came to them over a stream that is no socket. */
class TestOwner implements NameOwner {
  readonly name: string;
  readonly unreachable = 'Nobody is at home.';
  readonly valid = new Set<string>();
  /** Names that anybody may visit, besides whose they are. */
  readonly public = new Set<string>();
  readonly page: Server = createServer((asked, answer) => {
    // It is being read for as long as the visitor likes.
    if (asked.url === '/hang') {
      answer.writeHead(200).write('x');
      return;
    }
    answer.setHeader('clear-site-data', '"cookies"');
    answer.setHeader('set-cookie', ['__Host-visitor=stolen; Path=/', 'own=1; Domain=evil.test']);
    answer.end(JSON.stringify({ owner: this.name, url: asked.url, headers: asked.headers }));
  }).on('upgrade', (_asked, socket: Socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n');
    socket.pipe(socket);
  });
  readonly #form: RegExp;
  #answers: (request: IncomingMessage) => PlainAnswer | undefined = () => undefined;

  constructor(name: string, form: RegExp) {
    this.name = name;
    this.#form = form;
  }

  /** Answers in place of the page from now on. */
  answerWith(answers: (request: IncomingMessage) => PlainAnswer | undefined): void {
    this.#answers = answers;
  }

  owns({ label }: AskedName): boolean {
    return this.#form.test(label);
  }

  find({ label }: AskedName, asked: IncomingMessage) {
    if (!this.valid.has(label)) return Promise.resolve(undefined);
    const isVisitor = this.public.has(label) && asked.headers['x-owner'] === undefined;
    const target: NameTarget = {
      id: label,
      ...(isVisitor && { visitor: { accountId: undefined } }),
      accountId: 'one account',
      place: 'here',
      port: 3000,
      cookiePrefix: `${label}_`,
      visitorCookie: '__Host-visitor',
      dial: () => {
        if (label.endsWith('away')) return Promise.reject(new Error('away'));
        const [near, far] = duplexPair();
        this.page.emit('connection', far);
        return Promise.resolve(near);
      },
    };
    return Promise.resolve(this.#answers(asked) ?? target);
  }

  stillValid(ids: readonly string[]): Promise<string[]> {
    return Promise.resolve(ids.filter((id) => this.valid.has(id)));
  }
}

async function openForwarder(settings: Record<string, string> = {}) {
  const clock = testClock();
  const config = loadConfig({}, { SVC_PREVIEW_PORT: '0', ...settings });
  const forwarder = new Forwarder({ config, clock, log: createLog('silent') });
  const [ports, words] = [new TestOwner('ports', /^\d+--\w+$/), new TestOwner('words', /^\w+$/)];
  for (const owner of [ports, words]) forwarder.register(owner);
  assert.deepEqual(await Promise.all([forwarder.listen(), forwarder.listen()]), [true, true]);
  const ask = async (name: string, path = '/', headers: Record<string, string> = {}) => {
    const to = { host: '127.0.0.1', port: forwarder.port, path, headers: { host: name, ...headers }, agent: false };
    const sent = request(to).end();
    const [answer] = await once(sent, 'response');
    const text = Buffer.concat(await answer.toArray()).toString();
    return { status: answer.statusCode as number, headers: answer.headers as IncomingHttpHeaders, text };
  };
  return { clock, forwarder, ports, words, ask, [Symbol.asyncDispose]: () => forwarder.close() };
}

describe('the listener that forwards', () => {
  test('asks the owner of a name, by host and by path, and shows the page its own host', async () => {
    await using t = await openForwarder();
    t.ports.valid.add('3000--blog');
    t.words.valid.add('blog');
    const said = JSON.parse((await t.ask('3000--blog.localhost', '/a?b=c')).text);
    assert.deepEqual([said.owner, said.url, said.headers.host], ['ports', '/a?b=c', 'localhost:3000']);
    assert.equal(JSON.parse((await t.ask('blog.localhost')).text).owner, 'words');
    const byPath = JSON.parse((await t.ask('127.0.0.1', '/3000--blog/a')).text);
    assert.deepEqual([byPath.owner, byPath.url], ['ports', '/a']);
    const sent = await t.ask('localhost:8788', '/3000--blog/a', { 'sec-fetch-site': 'none' });
    assert.deepEqual([sent.status, sent.headers.location], [307, 'http://3000--blog.localhost:8788/a']);
  });

  test('refuses a name without an owner as it refuses one that is not valid', async () => {
    await using t = await openForwarder();
    const answers = [await t.ask('no-owner.localhost'), await t.ask('1--unknown.localhost'), await t.ask('other.test')];
    for (const { status, text } of answers) assert.deepEqual([status, text], [403, 'This address is not valid.\n']);
  });

  test('counts wrong names for each client of a trusted proxy, and for the proxy of one that is not', async () => {
    const after100 = async (settings: Record<string, string>): Promise<number> => {
      await using t = await openForwarder(settings);
      const ask = (i: number) => t.ask('1--unknown.localhost', '/', { 'x-forwarded-for': `198.51.100.${i}` });
      let last = 0;
      for (let i = 0; i <= 100; i++) last = (await ask(i)).status;
      return last;
    };
    assert.equal(await after100({ SVC_TRUSTED_PROXIES: '127.0.0.1' }), 403);
    assert.equal(await after100({}), 429);
  });

  test('says in the words of the owner that nothing is there', async () => {
    await using t = await openForwarder();
    t.ports.valid.add('3000--away');
    const { status, text } = await t.ask('3000--away.localhost');
    assert.deepEqual([status, text], [502, 'Nobody is at home.\n']);
  });

  test('lets an owner answer itself: a page to sign in, a cookie for a ticket; the cookie stays outside', async () => {
    await using t = await openForwarder();
    t.ports.valid.add('3000--blog');
    t.ports.answerWith(({ headers, url }) => {
      if (headers.cookie?.includes('__Host-visitor=me') === true) return undefined;
      if (url === '/?ticket=once') {
        return { status: 303, text: '', headers: { location: '/', 'set-cookie': '__Host-visitor=me; HttpOnly' } };
      }
      return { status: 302, text: 'Sign in.', headers: { location: 'https://hub.test/sign-in' } };
    });
    const ask = (path: string, cookie?: string) => t.ask('3000--blog.localhost', path, cookie ? { cookie } : {});
    const unknown = await ask('/');
    assert.deepEqual([unknown.status, unknown.headers.location], [302, 'https://hub.test/sign-in']);
    const known = await ask('/?ticket=once');
    assert.deepEqual([known.status, known.headers['set-cookie']], [303, ['__Host-visitor=me; HttpOnly']]);
    const inside = await ask('/', '__Host-visitor=me; own=2');
    assert.equal(JSON.parse(inside.text).headers.cookie, 'own=2');
    assert.deepEqual(inside.headers['set-cookie'], ['own=1'], 'and the page sets none of that name');
    assert.equal(inside.headers['clear-site-data'], undefined, 'nor removes those of its whole site');
  });

  test('one visitor with every place of a public port keeps out nobody: the oldest goes for who has less, and the owner has places beside', async () => {
    await using t = await openForwarder({ SVC_TRUSTED_PROXIES: '127.0.0.1' });
    t.ports.valid.add('3000--shop').add('4000--own');
    t.ports.public.add('3000--shop');
    const open = async (from: string) => {
      const headers = { host: '3000--shop.localhost', 'x-forwarded-for': from };
      const sent = request({ host: '127.0.0.1', port: t.forwarder.port, path: '/hang', headers, agent: false }).end();
      sent.on('error', () => {});
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.on('error', () => {}).resume();
      return { status: answer.statusCode, answer };
    };
    const ask = async (from: string, more: Record<string, string> = {}) =>
      (await t.ask('3000--shop.localhost', '/', { 'x-forwarded-for': from, ...more })).status;
    const held: Awaited<ReturnType<typeof open>>[] = [];
    for (let n = 0; n < 64; n += 1) held.push(await open('198.51.100.1'));
    assert.equal((await open('198.51.100.1')).status, 503);
    assert.equal(await ask('198.51.100.2'), 200);
    await until(() => held[0]?.answer.destroyed === true);
    assert.equal(held.filter(({ answer }) => answer.destroyed).length, 1);
    // The place of that visit is free again: no further one goes.
    assert.equal(await ask('203.0.113.9'), 200);
    assert.equal(held.filter(({ answer }) => answer.destroyed).length, 1);
    assert.equal((await open('198.51.100.1')).status, 200);
    assert.equal(await ask('198.51.100.1', { 'x-owner': 'yes' }), 200);
    assert.equal((await t.ask('4000--own.localhost')).status, 200);
  });

  test('ends what is open when its owner says that its name is over, and that of no other owner', async () => {
    await using t = await openForwarder();
    t.ports.valid.add('3000--blog');
    t.words.valid.add('blog');
    const upgrade = async (label: string): Promise<Socket> => {
      const headers = { host: `${label}.localhost`, connection: 'upgrade', upgrade: 'websocket' };
      const sent = request({ host: '127.0.0.1', port: t.forwarder.port, headers }).end();
      const [, socket] = (await once(sent, 'upgrade')) as [unknown, Socket];
      socket.on('error', () => {}).write('x');
      await once(socket, 'data');
      return socket;
    };
    const [ended, kept] = [await upgrade('3000--blog'), await upgrade('blog')];
    t.ports.valid.clear();
    t.clock.advance(3_000);
    await until(() => ended.closed);
    kept.write('x');
    await once(kept, 'data');
    kept.destroy();
  });
});
