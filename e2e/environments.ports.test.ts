import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import type { BrowserContext } from 'playwright-core';
import { enrolled, TestDaemon } from '../apps/server/src/features/relay/relay.testing.ts';
import { launchBrowser, noBrowser } from '../apps/server/src/testing.browser.ts';
import { trustCertificate } from '../apps/server/src/testing.tls.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../apps/server/src/testing.ts';
import { freePort } from './platform.ts';

const domain = 'ports.example.test';

/** A server of a machine; what it was asked is kept. */
async function serverOf(context: TestContext, secret: string) {
  const asked: string[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(`${request.method} ${request.url}`);
    response.setHeader('content-type', 'text/html');
    // Whatever a page may try to plant on other hosts.
    response.setHeader('set-cookie', [
      `own=${secret}; Path=/`,
      'svc_session=planted; Domain=localhost; Path=/',
      `svc_port=planted; Domain=${domain}; Path=/`,
      '__Host-svc_port=planted; Path=/; Secure',
    ]);
    response.end(`<p>${secret}</p><script>localStorage.setItem('own', '${secret}')</script>`);
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('upgrade', (_request, socket: Socket) => {
    asked.push('WebSocket');
    socket.destroy();
  });
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: (server.address() as AddressInfo).port };
}

/** What ends TLS before the previews, as a proxy of the domain does. */
async function proxyOf(context: TestContext, to: number): Promise<number> {
  using certificate = trustCertificate();
  const server = createTlsServer(certificate, (socket) => {
    const inside = connect(to, '127.0.0.1');
    socket.on('error', () => inside.destroy());
    inside.on('error', () => socket.destroy());
    socket.pipe(inside).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/**
 * What a page on a published port tries on another one and on the platform, whose addresses it knows: to read, to write, to
 * connect, and to plant cookies.
 */
const attack = (own: string, byPath: string, platform: string): string => `(async () => {
  const [own, byPath, platform, domain] = ${JSON.stringify([own, byPath, platform, domain])};
  const tried = {};
  const attempt = async (name, act) => { tried[name] = await Promise.try(act).catch(() => 'refused'); };
  const read = async (url, options) => (await fetch(url, { credentials: 'include', ...options })).text();
  for (const [name, url] of Object.entries({ own, byPath, platform: platform + '/v1/keys', home: platform + '/' })) {
    await attempt('read ' + name, () => read(url));
    await attempt('write ' + name, () => read(url, { method: 'POST', mode: 'no-cors', body: 'x' }));
    const frame = document.createElement('iframe');
    frame.src = url;
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    document.body.append(frame);
    await loaded;
    await attempt('frame ' + name, () => frame.contentWindow.document.body.innerText);
  }
  await attempt('socket', () => new Promise((resolve, reject) => {
    const socket = new WebSocket(own.replace('http', 'ws') + 'socket');
    socket.onopen = () => resolve('open');
    socket.onerror = reject;
  }));
  for (const at of ['localhost', domain, 'example.test', '']) {
    document.cookie = 'svc_session=planted; Path=/' + (at && '; Domain=' + at);
    document.cookie = 'svc_port=planted; Path=/' + (at && '; Domain=' + at);
  }
  return tried;
})()`;

for (const where of ['localhost', domain] as const) {
  test(`a page of a published port below ${where} reads, writes and plants nothing elsewhere`, {
    skip: noBrowser,
  }, async (context) => {
    const stack = new AsyncDisposableStack();
    context.after(() => stack.disposeAsync());
    const previewPort = await freePort();
    const isDomain = where !== 'localhost';
    const settings = { SVC_PREVIEW_PORT: String(previewPort), ...(isDomain && { SVC_PREVIEW_DOMAIN: domain }) };
    const t = stack.use(await openTest({ settings }));
    const proxy = isDomain ? await proxyOf(context, previewPort) : 0;
    const [mine, theirs] = [await serverOf(context, 'of-the-attacker'), await serverOf(context, 'of-the-victim')];

    /** A machine of an account whose server is published for its own developers. */
    const publish = async (account: TestAccount, { port }: { port: number }) => {
      const env = await enrolled(t.gateway, account);
      const path = `/v1/environments/${env.id}`;
      const headers = { authorization: `Bearer ${account.key}`, 'x-svc-device': env.deviceId };
      const daemon = new TestDaemon(`${t.gateway.url}/relay${path}/serve`, headers);
      stack.defer(() => daemon.close());
      const { key } = account;
      await until(async () => (await http(t.gateway.url, `/relay${path}/status`, { key })).body.usable === true);
      await http(t.gateway.url, `${path}/ports/${port}`, { method: 'PUT', key, body: { visibility: 'owner' } });
      const { url } = (await http(t.gateway.url, `${path}/ports/${port}/link`, { method: 'POST', key })).body;
      return { url: url as string, origin: new URL(url).origin, byPath: `${t.gateway.url}/relay/p/${env.id}/${port}/` };
    };
    const victim = await publish(t.account, theirs);
    const attacker = await publish(await createAccount(t.gateway), mine);

    const rules = `--host-resolver-rules=MAP *.${domain}:443 127.0.0.1:${proxy}`;
    const instance = await launchBrowser(isDomain ? [rules, '--ignore-certificate-errors'] : []);
    stack.defer(() => instance.close());
    const pages: BrowserContext = await instance.newContext({ ignoreHTTPSErrors: true });
    const home = await pages.newPage();
    await home.goto(t.gateway.url);
    await home.evaluate(`localStorage.setItem('key', ${JSON.stringify(t.account.key)})`);
    const visited = await pages.newPage();
    await visited.goto(victim.url);
    assert.equal(visited.url(), `${victim.origin}/`, 'the ticket is gone from the address');
    assert.equal(await visited.locator('p').innerText(), 'of-the-victim');
    await visited.goto(victim.byPath);
    assert.equal(visited.url(), `${victim.origin}/`, 'by path a browser comes to the same origin');
    const cookies = async () =>
      (await pages.cookies([t.gateway.url, victim.origin])).map(({ name, value, domain: of }) => [name, value, of]);
    const before = await cookies();
    assert.deepEqual(
      new Set(before.map(([name]) => name)),
      new Set([isDomain ? '__Host-svc_port' : 'svc_port', 'own']),
    );
    const asked = theirs.asked.length;

    const evil = await pages.newPage();
    await evil.goto(attacker.url);
    assert.equal(await evil.locator('p').innerText(), 'of-the-attacker');
    const tried: Record<string, string> = await evil.evaluate(
      attack(`${victim.origin}/`, victim.byPath, t.gateway.url),
    );
    const told = JSON.stringify(tried);
    assert.ok(!told.includes('of-the-victim') && !told.includes('svc_'), told);
    assert.deepEqual(
      Object.entries(tried).filter(([, what]) => what !== 'refused' && what !== ''),
      [],
    );
    const reached = theirs.asked.slice(asked).filter((one) => !one.endsWith('/favicon.ico'));
    assert.deepEqual(reached, [], 'nothing of it reached the other page');
    // A page may set cookies for the domain that it shares with others; none that lets anybody in anywhere.
    const planted = (await cookies()).filter(([, value]) => value === 'planted');
    assert.deepEqual(
      planted.filter(([, , of = '']) => !isDomain || !['.example.test', `.${domain}`].includes(of)),
      [],
    );
    assert.deepEqual(
      (await cookies()).filter(([, value]) => value !== 'planted'),
      before,
    );
    await visited.reload();
    assert.equal(await visited.locator('p').innerText(), 'of-the-victim');
    assert.equal(await visited.evaluate('localStorage.getItem("own")'), 'of-the-victim');
  });
}
