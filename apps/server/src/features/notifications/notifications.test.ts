import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, test } from 'node:test';
import type { contract, RouteEvent } from '@svc/contract';
import { testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { removeFact, writeFact } from '../../kernel/db/facts.ts';
import { shared } from '../../testing.shared.ts';
import { trustCertificate } from '../../testing.tls.ts';
import { clientOf, createAccount, http, openTest, startGateway, type TestAccount, until } from '../../testing.ts';
import { deepLink, type NewNotification, notify, notifyMany, queueMail, reachesAnybody } from './index.ts';
import { sweepNotifications } from './notifications.jobs.ts';
import { bounded, mailText, retryAfter } from './notifications.rules.ts';
import { takeDeliveries } from './notifications.sql.ts';
import {
  type Browser,
  decrypt,
  newBrowser,
  TestMailServer,
  TestPushService,
  verifyVapid,
} from './notifications.testing.ts';

describe('notifications', () => {
  const clock = testClock();
  const log = new PassThrough();
  let logged = '';
  const push = new TestPushService();
  const mail = new TestMailServer();
  const { pushed, answers, hanging } = push;
  const { mails } = mail;
  let account: TestAccount;

  const {
    database,
    gateway,
    second: other,
  } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(push).listen(opening.use(trustCertificate()));
    await opening.use(mail).listen();
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    const settings = {
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_FETCH_PORTS: `443,${push.port}`,
      SVC_SMTP_URL: mail.url,
      SVC_MAIL_FROM: 'svc <bot@svc.test>',
      SVC_LOG_LEVEL: 'info',
    };
    const t = opening.use(await openTest({ gateways: 2, clock, settings, log }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(async () => {
    await settled();
    account = await createAccount(gateway);
    pushed.length = 0;
    mails.length = 0;
    mail.refusing = undefined;
  });

  // The outbox looks every 5 s: what is due in 5 s is taken within 10.
  const told = (change: Partial<NewNotification> = {}): NewNotification => ({
    accountId: account.id,
    dedupeKey: randomUUID(),
    type: 'test.told',
    title: 'Title',
    body: 'Body',
    severity: 'info',
    ...change,
  });
  const tell = (change: Partial<NewNotification> = {}, from = gateway) =>
    inTransaction(from.kernel.sql, (tx) => notify(from.kernel, tx, told(change)));
  const inbox = async (query = '', key = account.key) =>
    (await http(gateway.url, `/v1/notifications${query}`, { key })).body;
  const endpointOf = (path: string) => `https://127.0.0.1:${push.port}${path}`;
  const subscribe = (path: string, browser: Browser, key = account.key, more: object = {}) =>
    http(gateway.url, '/v1/push/subscriptions', {
      key,
      body: { endpoint: endpointOf(path), keys: browser.json, ...more },
    });
  const waiting = async () => (await gateway.kernel.sql`select 1 from notifications.deliveries`).length;
  /** Deliveries that wait for their next attempt in `ms`. */
  const waitingUntil = async (ms: number) => {
    const due = new Date(clock.now() + ms).toISOString();
    return (await gateway.kernel.sql`select 1 from notifications.deliveries where due_at = ${due}`).length;
  };
  /** Nothing is on its way any more; what hangs is answered, whatever the test before left. */
  const settled = () =>
    until(async () => {
      push.release();
      return (await waiting()) === 0;
    });
  /** Time passes until there is an answer. */
  const passing = async <T>(asked: Promise<T>): Promise<T> => {
    let isThere = false;
    const there = () => void (isThere = true);
    void asked.then(there, there);
    await until(() => {
      if (!isThere) clock.advance(1_000);
      return isThere;
    });
    return asked;
  };

  test('what others wrote into a notification acts on nobody who reads it, wherever it goes', async () => {
    const { sql } = gateway.kernel;
    const given = told({ title: '\u001b[31mdown\u001b[0m\u0007', body: 'one\u001b[2K\ntwo\u202e' });
    await inTransaction(sql, (tx) => notify(gateway.kernel, tx, given));
    const { notifications } = await clientOf(gateway, account.key).notifications.list();
    assert.deepEqual([notifications[0]?.title, notifications[0]?.body], ['down\\u{7}', 'one\ntwo\\u{202e}']);
  });

  test('it is in the inbox exactly when the transaction that tells of it commits', async () => {
    await assert.rejects(
      inTransaction(gateway.kernel.sql, async (tx) => {
        await notify(gateway.kernel, tx, told({ title: 'never' }));
        throw new Error('rolled back');
      }),
    );
    await tell({ title: 'kept', url: 'svc://x/1', data: { a: [1, '\u0000\ud800'] }, severity: 'critical' });
    const { notifications, unread_count: unread } = await inbox();
    assert.equal(notifications.length, 1);
    assert.equal(unread, 1);
    const { id, created_at, ...rest } = notifications[0];
    assert.deepEqual(rest, {
      type: 'test.told',
      title: 'kept',
      body: 'Body',
      url: 'svc://x/1',
      severity: 'critical',
      data: { a: [1, '\u0000\ud800'] },
      web_url: `${gateway.kernel.config.hubUrl}/x/1`,
      actions: [
        { id: 'read', method: 'PATCH', path: `/v1/notifications/${id}`, body: { read: true } },
        { id: 'archive', method: 'PATCH', path: `/v1/notifications/${id}`, body: { archived: true } },
      ],
    });
    assert.equal(created_at, new Date(clock.now()).toISOString());
    assert.match(id, /^[0-9a-f-]{36}$/);
  });

  test('a test notification goes where alerts go, and its answer says where it arrived', async () => {
    const ask = (key = account.key) => http(gateway.url, '/v1/notifications/test', { method: 'POST', key });
    const without = await ask();
    assert.equal(without.status, 201);
    assert.deepEqual(without.body.targets, [
      { channel: 'inbox', to: account.id, sent: true, outcome: 'delivered' },
      { channel: 'push', sent: false, reason: 'no browser of the account is subscribed' },
      { channel: 'mail', to: account.email, sent: true, outcome: 'delivered' },
      { channel: 'webhook', sent: false, reason: 'the account has no webhook' },
    ]);
    await settled();
    await subscribe('/test', newBrowser());
    const { body } = await ask();
    assert.deepEqual(body.targets[1], {
      channel: 'push',
      to: `127.0.0.1:${push.port}`,
      sent: true,
      outcome: 'delivered',
    });
    assert.equal(JSON.stringify(body.targets).includes('/test'), false, 'what only that browser knows is not told');
    await settled();
    assert.deepEqual([pushed.length, mails.length], [1, 2]);
    assert.deepEqual(
      (await inbox()).notifications.map(({ id, type }: { id: string; type: string }) => [id, type]),
      [body, without.body].map(({ notification }) => [notification.id, 'notification.test']),
    );
    const mine = await createAccount(gateway);
    await ask(mine.key);
    assert.equal((await inbox()).notifications.length, 2, 'and reach nobody else');
  });

  test('a test tells what refused it: the push service, the mail server in its words, the webhook', async () => {
    const hook = { url: endpointOf('/refusing'), name: 'Phone' };
    const { status } = await http(gateway.url, '/v1/notifications/webhooks', { key: account.key, body: hook });
    assert.equal(status, 201);
    answers.set('/refusing', [{ status: 404 }]);
    answers.set('/apple', [{ status: 403 }]);
    mail.refusing = { code: 550, times: 1, words: '5.1.1 No such user; you are mailer with smtp-secret' };
    await subscribe('/apple', newBrowser(), account.key, { device_name: 'Phone of Ana' });
    const ask = () => http(gateway.url, '/v1/notifications/test', { method: 'POST', key: account.key });
    const { targets } = (await ask()).body;
    const no = { sent: false, outcome: 'failed' };
    const words = 'the mail server answered 550 5.1.1 No such user; you are mailer with [redacted]';
    const pushHost = `127.0.0.1:${push.port}`;
    assert.deepEqual(targets.slice(1), [
      {
        channel: 'push',
        to: pushHost,
        device_name: 'Phone of Ana',
        ...no,
        status: 403,
        reason: 'the push service answered 403',
      },
      { channel: 'mail', to: account.email, ...no, status: 550, reason: words },
      { channel: 'webhook', to: 'Phone', ...no, status: 404, reason: 'it answered 404' },
    ]);
    await gateway.kernel.sql`delete from notifications.webhooks where account_id = ${account.id}`;
  });

  test('what has not answered a test within 10 s is said to be under way, never to be there', async () => {
    await subscribe('/hang/test', newBrowser());
    const asked = http(gateway.url, '/v1/notifications/test', { method: 'POST', key: account.key });
    await until(() => hanging.length === 1);
    // The push may hang before its gateway waits for it: that one's 10 s begin when they do.
    const { status, body } = await passing(asked);
    assert.equal(status, 201, JSON.stringify(body));
    const [{ outcome, sent }] = body.targets.filter(({ channel }: { channel: string }) => channel === 'push');
    assert.deepEqual([outcome, sent], ['pending', false]);
    await settled();
  });

  test('a test in a copy of a platform says at once that a copy sends nothing', async () => {
    const { sql } = gateway.kernel;
    await writeFact(sql, 'copy_of', Buffer.from('/elsewhere'));
    await subscribe('/hang/copy', newBrowser());
    const { body } = await http(gateway.url, '/v1/notifications/test', { method: 'POST', key: account.key });
    const [one] = body.targets.filter(({ channel }: { channel: string }) => channel === 'push');
    assert.deepEqual([one.sent, one.outcome], [false, undefined]);
    assert.match(one.reason, /is a copy of another one and sends nothing/);
    await removeFact(sql, 'copy_of');
    await until(() => hanging.length === 1);
    await settled();
  });

  test('alerts of an account reach somebody by mail, else by a browser or a webhook that is on', async () => {
    const { sql, config } = gateway.kernel;
    const reaches = (mail: typeof config.mail, email = account.email) =>
      reachesAnybody({ sql, config: { ...config, mail } }, email);
    assert.deepEqual([await reaches(config.mail), await reaches(undefined)], [true, false]);
    const own = await createAccount(gateway);
    await sql`update accounts.accounts set email = 'somebody@localhost' where id = ${own.id}`;
    assert.equal(await reaches(config.mail, 'somebody@localhost'), false, 'no mail gets there');
    await subscribe('/reached', newBrowser());
    assert.equal(await reaches(undefined), true);
    const hook = { url: 'https://127.0.0.1/hook', name: 'hook', format: 'svc' };
    const made = await http(gateway.url, '/v1/notifications/webhooks', { key: own.key, body: hook });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(await reaches(undefined, 'somebody@localhost'), true);
    await sql`update notifications.webhooks set enabled = false where account_id = ${own.id}`;
    assert.equal(await reaches(undefined, 'somebody@localhost'), false);
    assert.equal(await reaches(undefined, 'nobody@svc.test'), undefined);
  });

  test('every deep link has its page of the hub beside it, and other addresses have none', async () => {
    await tell({ title: 'linked', url: 'svc://schedules/1%2F2' });
    const own = `${gateway.kernel.config.hubUrl}/schedules/1%2F2`;
    assert.equal((await inbox()).notifications[0].web_url, own);
    const settings = { SVC_HUB_URL: 'https://hub.example.com/app/' };
    // On the clock of the others: one that is minutes ahead takes what they have leased.
    await using hub = await startGateway(database, { clock, settings });
    await tell({ title: 'elsewhere', url: 'https://example.com/x' });
    const { body } = await http(hub.url, '/v1/notifications', { key: account.key });
    assert.deepEqual(
      body.notifications.map(({ url, web_url }: { url: string; web_url?: string }) => [url, web_url]),
      [
        ['https://example.com/x', undefined],
        ['svc://schedules/1%2F2', 'https://hub.example.com/app/schedules/1%2F2'],
      ],
    );
    const links = mailText(
      { title: 't', body: 'b', url: 'svc://schedules/1' },
      { appScheme: 'svc', hubUrl: 'https://hub.example.com' },
    );
    assert.equal(links.text, 't\n\nb\n\nhttps://hub.example.com/schedules/1\nsvc://schedules/1');
    assert.match(links.html, /<a href="https:\/\/hub\.example\.com\/schedules\/1">[^]*<a href="svc:\/\/schedules\/1">/);
  });

  test('fifty writers of one key at once, on two gateways, make one entry, one push and one e-mail', async () => {
    const browser = newBrowser();
    assert.equal((await subscribe('/once', browser)).status, 201);
    const dedupeKey = randomUUID();
    await Promise.all(Array.from({ length: 50 }, (_, i) => tell({ dedupeKey }, i % 2 ? gateway : other)));
    assert.equal((await inbox()).notifications.length, 1);
    await settled();
    assert.deepEqual([pushed.length, mails.length], [1, 1]);
    const stranger = await createAccount(gateway);
    await tell({ dedupeKey, accountId: stranger.id });
    assert.equal((await inbox('', stranger.key)).notifications.length, 1);
  });

  test('many in one statement keep their order and their own keys', async () => {
    const many = Array.from({ length: 300 }, (_, i) =>
      told({ title: `n${i}`, dedupeKey: `k${String(Math.floor(i / 2)).padStart(4, '0')}` }),
    );
    await inTransaction(gateway.kernel.sql, (tx) => notifyMany(gateway.kernel, tx, many));
    await inTransaction(gateway.kernel.sql, (tx) => notifyMany(gateway.kernel, tx, []));
    const { notifications, unread_count } = await inbox('?limit=200');
    assert.deepEqual(
      [notifications.length, unread_count],
      [200, 150]
        .toSorted((a, b) => a - b)
        .toReversed()
        .map((n) => Math.min(n, 150)),
    );
    assert.equal(notifications[0].title, 'n298');
    await settled();
  });

  test('unread, archived and limit say what is listed; bad ones are refused', async () => {
    for (let i = 0; i < 5; i++) await tell({ title: `t${i}` });
    const ids = (await inbox()).notifications.map(({ id }: { id: string }) => id);
    const patch = (id: string, body: object) =>
      http(gateway.url, `/v1/notifications/${id}`, { method: 'PATCH', key: account.key, body });
    const titles = async (query: string) => (await inbox(query)).notifications.map((n: { title: string }) => n.title);
    assert.deepEqual(await titles('?limit=2'), ['t4', 't3']);
    const read = await patch(ids[0], { read: true });
    assert.equal(read.body.notification.read_at, new Date(clock.now()).toISOString());
    const first = read.body.notification.read_at;
    clock.advance(1_000);
    assert.equal((await patch(ids[0], { read: true })).body.notification.read_at, first, 'the first instant counts');
    await patch(ids[1], { archived: true });
    assert.deepEqual(await titles('?unread=true'), ['t2', 't1', 't0']);
    assert.deepEqual(await titles('?unread=false'), ['t4', 't2', 't1', 't0']);
    assert.deepEqual(await titles('?archived=true'), ['t3']);
    assert.equal((await inbox('?archived=true')).unread_count, 3);
    assert.equal((await patch(ids[0], { read: false })).body.notification.read_at, undefined);
    assert.equal((await patch(ids[1], { archived: false })).body.notification.archived_at, undefined);
    await patch(ids[0], { read: true, archived: true });
    const { notification } = (await patch(ids[0], { read: null, archived: null })).body;
    assert.deepEqual([notification.read_at, notification.archived_at], [undefined, undefined]);
    assert.deepEqual(await titles('?unread=true'), ['t4', 't3', 't2', 't1', 't0']);
    for (const query of ['?limit=0', '?limit=201', '?limit=1.5', '?limit=', '?unread=maybe'])
      assert.equal((await http(gateway.url, `/v1/notifications${query}`, { key: account.key })).status, 400, query);
    assert.equal((await patch(ids[0], {})).status, 400);
    const all = await http(gateway.url, '/v1/notifications/read-all', { method: 'POST', key: account.key });
    assert.deepEqual([all.status, all.body], [200, { updated: 5 }]);
    assert.equal((await inbox()).unread_count, 0);
    await settled();
  });

  test('entries and browsers of another account are not there', async () => {
    await tell();
    const { id } = (await inbox()).notifications[0];
    await subscribe('/mine', newBrowser());
    const stranger = await createAccount(gateway);
    const patched = await http(gateway.url, `/v1/notifications/${id}`, {
      method: 'PATCH',
      key: stranger.key,
      body: { read: true },
    });
    assert.deepEqual([patched.status, patched.body.error.code], [404, 'not_found']);
    const removed = await http(gateway.url, '/v1/push/subscriptions', {
      method: 'DELETE',
      key: stranger.key,
      body: { endpoint: endpointOf('/mine') },
    });
    assert.deepEqual([removed.status, removed.body.error.code], [404, 'not_found']);
    assert.equal((await inbox('', stranger.key)).notifications.length, 0);
    const own = { method: 'DELETE', key: account.key, body: { endpoint: endpointOf('/mine') } };
    assert.equal((await http(gateway.url, '/v1/push/subscriptions', own)).body.deleted, true);
    assert.equal((await http(gateway.url, '/v1/push/subscriptions', own)).status, 404);
  });

  const changed = (frame: RouteEvent<typeof contract.notifications.stream> | void) =>
    frame?.event === 'notification' ? frame.data : assert.fail(`not a notification: ${JSON.stringify(frame)}`);

  test('a stream on either gateway gets what is new and what is read, and nothing of others', async () => {
    const abort = new AbortController();
    const frames = [gateway, other].map((one) =>
      clientOf(one, account.key).notifications.stream({}, { signal: abort.signal }),
    );
    const second = frames[1] as (typeof frames)[0];
    for (const stream of frames) assert.equal((await stream.next()).value?.event, 'ready');
    const firsts = frames.map(async (stream) => changed((await stream.next()).value));
    const stranger = await createAccount(gateway);
    await tell({ accountId: stranger.id });
    await tell({ title: 'live' }, other);
    for (const first of firsts) {
      const { op, title } = await first;
      assert.deepEqual([op, title], ['created', 'live']);
    }
    const { id } = (await inbox()).notifications[0];
    await http(gateway.url, `/v1/notifications/${id}`, { method: 'PATCH', key: account.key, body: { archived: true } });
    const { op, archived_at: archivedAt } = changed((await second.next()).value);
    assert.deepEqual([op, typeof archivedAt], ['updated', 'string']);
    await http(gateway.url, '/v1/notifications/read-all', { method: 'POST', key: account.key });
    assert.equal((await second.next()).value?.event, 'read_all');
    abort.abort();
    await settled();
  });

  test('a reader that does not read is closed, and holds nobody up', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /v1/notifications/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n\r\n`);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    await until(() => text.includes('event: ready'));
    await tell({ title: 'read' });
    await until(() => text.includes('"read"'));
    socket.pause();
    const body = 'x'.repeat(4_000);
    // Without a mail server: thousands of e-mails are of no interest here.
    const { kernel } = gateway;
    const silent = { ...kernel, config: { ...kernel.config, mail: undefined } };
    for (let round = 0; round < 40 && gateway.kernel.streams.count() > 0; round++) {
      const many = Array.from({ length: 200 }, () => told({ body }));
      await inTransaction(kernel.sql, (tx) => notifyMany(silent, tx, many));
    }
    await until(() => gateway.kernel.streams.count() === 0);
    socket.destroy();
  });

  test('a browser can decrypt what it is sent, and knows who sent it', async () => {
    const browser = newBrowser();
    const subscribed = await subscribe('/push/abc?x=1', browser);
    assert.equal(subscribed.status, 201);
    assert.deepEqual(Object.keys(subscribed.body.subscription).sort(), ['created_at', 'endpoint', 'id']);
    await tell({ title: 'Ștefan 📱', body: 'line\nline', url: 'svc://a/b', severity: 'critical', data: { n: 1 } });
    await settled();
    const [request] = pushed;
    assert.ok(request);
    assert.equal(request.path, '/push/abc?x=1');
    const payload = JSON.parse(decrypt(browser, request.body));
    const [record] = (await inbox()).notifications;
    assert.deepEqual(payload, {
      web_push: 8030,
      notification: {
        title: 'Ștefan 📱',
        body: 'line\nline',
        navigate: record.web_url,
        tag: `notification:${record.id}`,
        app_badge: 1,
      },
      app_badge: 1,
      svc: { id: record.id, type: 'test.told', actions: record.actions, subscription: subscribed.body.subscription.id },
    });
    const { headers } = request;
    assert.deepEqual(
      [headers['content-encoding'], headers['ttl'], headers['urgency'], headers['topic']],
      ['aes128gcm', '604800', 'high', record.id.replaceAll('-', '')],
    );
    const { key, claims } = verifyVapid(headers['authorization'] ?? '');
    for (const one of [gateway, other]) {
      const answer = await http(one.url, '/v1/push/vapid-key', { key: account.key });
      assert.equal(answer.body.public_key, key);
    }
    assert.equal(claims.aud, `https://127.0.0.1:${push.port}`);
    assert.equal(claims.sub, 'mailto:bot@svc.test');
    assert.ok(claims.exp > Date.now() / 1000 && claims.exp <= Date.now() / 1000 + 86_400);
    const [fact] = await gateway.kernel.sql`select value from kernel.facts where name = 'vapid'`;
    assert.ok(!String(fact?.['value']).includes('privateKey'), 'the private key is sealed');
  });

  test('a retry of one target sends nothing to another', async () => {
    await subscribe('/good', newBrowser());
    await subscribe('/flaky', newBrowser());
    answers.set('/flaky', [{ status: 503 }, { status: 429, headers: { 'retry-after': '60' } }]);
    await tell();
    await until(async () => pushed.length === 2 && mails.length === 1 && (await waiting()) === 1);
    clock.advance(10_000);
    await until(() => pushed.length === 3);
    await until(async () => {
      const [row] = await gateway.kernel.sql`select due_at from notifications.deliveries`;
      return Date.parse(row?.['due_at']) === clock.now() + 60_000;
    });
    clock.advance(55_000);
    assert.equal(await waiting(), 1);
    clock.advance(10_000);
    await settled();
    assert.deepEqual(pushed.map(({ path }) => path).sort(), ['/flaky', '/flaky', '/flaky', '/good']);
    assert.equal(mails.length, 1);
  });

  test('a browser that is gone is forgotten; one that is refused for good is not tried again', async () => {
    for (const [path, status, left] of [
      ['/gone', 410, 0],
      ['/unknown', 404, 0],
      ['/forbidden', 403, 1],
      ['/large', 413, 1],
    ] as const) {
      await subscribe(path, newBrowser());
      answers.set(path, [{ status }]);
      await tell();
      await settled();
      const endpoint = endpointOf(path);
      const rows = () => gateway.kernel.sql`select 1 from notifications.subscriptions where endpoint = ${endpoint}`;
      await until(async () => (await rows()).length === left);
      const { subscriptions } = (await http(gateway.url, '/v1/push/subscriptions', { key: account.key })).body;
      const errors = subscriptions.map((one: { last_error?: object }) => one.last_error);
      const reason = `the push service answered ${status}`;
      assert.deepEqual(errors, left === 0 ? [] : [{ at: clock.instant(), status, reason }]);
      await gateway.kernel.sql`delete from notifications.subscriptions`;
    }
    assert.equal(pushed.length, 4);
  });

  test('what a killed process had taken is sent by another one once its lease is over', async () => {
    const { sql } = gateway.kernel;
    await subscribe('/leased', newBrowser());
    // Nobody is woken: the row is taken here, as by a process that then dies.
    await sql.begin(async (tx) => {
      await notify({ ...gateway.kernel, bus: { ...gateway.kernel.bus, publish: () => Promise.resolve() } }, tx, told());
      for (const channel of ['push', 'mail'] as const) {
        const free = { channel, most: 10, perLane: 10, running: [] };
        assert.equal((await takeDeliveries(tx, clock, free, 120)).length, 1);
      }
    });
    clock.advance(115_000);
    assert.deepEqual([pushed.length, mails.length, await waiting()], [0, 0, 2]);
    clock.advance(10_000);
    await settled();
    assert.deepEqual([pushed.length, mails.length], [1, 1]);
  });

  test('browsers that hang hold up neither another account nor e-mail, and their backlog is bounded', async () => {
    for (let i = 0; i < 12; i += 1) await subscribe(`/hang/${i}`, newBrowser());
    const other_ = await createAccount(gateway);
    await subscribe('/fine', newBrowser(), other_.key);
    for (let i = 0; i < 30; i += 1) await tell();
    // The slots of the account are full, the rest of its deliveries waits: no clock is turned from here on.
    await until(() => hanging.length >= 6);
    await tell({ accountId: other_.id });
    await until(() => pushed.some(({ path }) => path === '/fine'));
    await until(() => mails.length === 31);
    // Two gateways, each with its share for one account.
    assert.ok(hanging.length <= 24, `${hanging.length}`);
    const [row] = await gateway.kernel.sql<{ most: number }[]>`
      select max(n)::int as most from (
        select count(*) as n from notifications.deliveries where subscription_id is not null group by subscription_id
      ) each`;
    assert.equal(row?.most, 20);
    await gateway.kernel.sql`delete from notifications.subscriptions where account_id = ${account.id}`;
    while (hanging.length > 0) hanging.pop()?.writeHead(201).end();
  });

  test('a browser that is being forgotten holds up no transaction that tells of something, and fails none', async () => {
    await subscribe('/leaving', newBrowser());
    const { sql } = gateway.kernel;
    await inTransaction(sql, async (tx) => {
      await tx`delete from notifications.subscriptions where account_id = ${account.id}`;
      await tell();
    });
    assert.equal((await inbox()).notifications.length, 1);
    await settled();
    assert.equal(pushed.length, 0);
  });

  test('an endpoint that is no public https address is refused in one and the same words', async () => {
    const browser = newBrowser();
    const messages = new Set<string>();
    for (const endpoint of [
      `http://127.0.0.1:${push.port}/x`,
      'https://127.0.0.1:22/x',
      'https://10.0.0.1/x',
      'https://169.254.169.254/latest',
      'https://[::1]/x',
      'https://localhost/x',
      'https://metadata.google.internal/x',
      `https://user:pass@127.0.0.1:${push.port}/x`,
      'https://no-such-name.invalid/x',
      'file:///etc/passwd',
      'nonsense',
    ]) {
      const answer = await http(gateway.url, '/v1/push/subscriptions', {
        key: account.key,
        body: { endpoint, keys: browser.json },
      });
      assert.equal(answer.status, 400, endpoint);
      messages.add(JSON.stringify(answer.body));
    }
    assert.equal(messages.size, 1);
    for (const keys of [
      { ...browser.json, p256dh: Buffer.alloc(65, 4).toString('base64url') },
      { ...browser.json, p256dh: 'short' },
      { ...browser.json, auth: 'AAAA' },
      {},
    ]) {
      const body = { endpoint: endpointOf('/keys'), keys };
      assert.equal((await http(gateway.url, '/v1/push/subscriptions', { key: account.key, body })).status, 400);
    }
    assert.equal(pushed.length, 0);
  });

  test('an endpoint subscribed by another account moves with its secrets, and is not taken without them', async () => {
    const next = await createAccount(gateway);
    const browser = newBrowser();
    await subscribe('/shared', browser);
    assert.equal((await subscribe('/shared', browser)).status, 200, 'a repeat');
    assert.equal((await subscribe('/shared', newBrowser(), next.key)).status, 201);
    await tell();
    await settled();
    assert.equal(pushed.length, 1);
    assert.ok(decrypt(browser, pushed[0]?.body as Buffer));
    assert.equal((await subscribe('/shared', browser, next.key)).status, 200);
    pushed.length = 0;
    await tell();
    await settled();
    assert.equal(pushed.length, 0, 'the browser belongs to the other account now');
    await tell({ accountId: next.id });
    await settled();
    assert.ok(decrypt(browser, pushed[0]?.body as Buffer));
  });

  test('an account has at most fifty browsers; the oldest goes', async () => {
    for (let i = 0; i < 51; i++) {
      await subscribe(`/many/${i}`, newBrowser());
      clock.advance(1);
    }
    const rows = await gateway.kernel.sql`
      select endpoint from notifications.subscriptions where account_id = ${account.id} order by created_at`;
    assert.equal(rows.length, 50);
    assert.ok(rows[0]?.['endpoint'].endsWith('/many/1'));
  });

  test('e-mail reaches the account’s address alone, as text and escaped HTML, under the id of the notification', async () => {
    await tell({ title: 'Down: <b>"db"</b>\r\nBcc: evil@x.test', body: 'a < b & c', url: 'https://x.test/?a="1"' });
    await settled();
    const [mail] = mails;
    assert.ok(mail);
    const [record] = (await inbox()).notifications;
    assert.deepEqual([mail.to, mail.from], [[account.email], 'bot@svc.test']);
    assert.match(mail.text, new RegExp(`^Message-ID: <${record.id}@svc.test>`, 'm'));
    assert.match(mail.text, /^Auto-Submitted: auto-generated/m);
    assert.doesNotMatch(mail.text, /^Bcc:/m);
    assert.ok(mail.text.includes('a &lt; b &amp; c') && mail.text.includes('a < b & c'));
    assert.ok(!mail.text.includes('<b>"db"</b></strong>'));
    assert.doesNotMatch(
      mailText({ title: '', body: '', url: 'javascript:alert(1)' }, { appScheme: 'svc', hubUrl: 'https://hub.test' })
        .html,
      /<a/,
    );
  });

  test('e-mail refused for now is sent later, refused for good is given up; other features queue their own once', async () => {
    mail.refusing = { code: 451, times: 1 };
    await tell();
    await until(
      async () =>
        (
          await gateway.kernel
            .sql`select 1 from notifications.deliveries where due_at = ${new Date(clock.now() + 5_000).toISOString()}`
        ).length === 1,
    );
    assert.equal(mails.length, 0);
    clock.advance(10_000);
    await settled();
    assert.equal(mails.length, 1);
    mail.refusing = { code: 550, times: 1 };
    await tell();
    await settled();
    assert.equal(mails.length, 1);
    for (let i = 0; i < 3; i++) {
      const mail = { to: 'a@b.test', subject: 'Digest', text: 'week', html: '<p>week</p>', dedupeKey: 'digest:1' };
      assert.equal(await queueMail(gateway.kernel, gateway.kernel.sql, mail), true);
    }
    await settled();
    assert.deepEqual(
      mails.slice(1).map(({ to }) => to),
      [['a@b.test']],
    );
    assert.match(mails[1]?.text ?? '', /^Subject: Digest$/m);
  });

  test('no secret is in a log line', async () => {
    mail.refusing = { code: 451, times: 1 };
    await subscribe('/secret-path-of-endpoint', newBrowser());
    answers.set('/secret-path-of-endpoint', [{ status: 403 }]);
    await tell();
    await until(
      async () => (await waitingUntil(5_000)) === 1 && logged.includes('is given up') && logged.includes('tried again'),
    );
    clock.advance(10_000);
    await settled();
    for (const secret of ['smtp-secret', 'secret-path', account.email, 'privateKey', 'vapid t=']) {
      assert.ok(!logged.includes(secret), secret);
    }
  });

  test('what is older than 90 days is forgotten, with the key it was known by', async () => {
    const { sql } = gateway.kernel;
    const dedupeKey = randomUUID();
    await tell({ dedupeKey });
    await tell();
    await settled();
    await sql`update notifications.notifications set created_at = now() - interval '91 days'
      where dedupe_key = ${dedupeKey}`;
    await sweepNotifications.run(gateway.kernel);
    assert.equal((await inbox()).notifications.length, 1);
    await tell({ dedupeKey });
    assert.equal((await inbox()).notifications.length, 2);
  });

  test('what is old by the clock that wrote it is forgotten, and nothing else', async () => {
    const { kernel } = gateway;
    await tell();
    await settled();
    const { length: there } = (await inbox()).notifications;
    const after = (days: number) => ({ ...kernel, clock: testClock(kernel.clock.now() + days * 86_400_000) });
    await sweepNotifications.run(after(89));
    assert.equal((await inbox()).notifications.length, there);
    await sweepNotifications.run(after(91));
    assert.equal((await inbox()).notifications.length, 0);
  });

  test('rules: bounds, waits, payloads and links', () => {
    const cut = bounded(
      told({
        title: '📱'.repeat(200),
        body: 'x'.repeat(9_000),
        dedupeKey: 'k'.repeat(999),
        data: { x: 'y'.repeat(9_000) },
      }),
    );
    assert.ok(cut.title.length <= 200 && cut.title.isWellFormed() && cut.body.length === 4_000);
    assert.deepEqual([cut.dedupeKey.length, cut.data], [64, undefined]);
    assert.equal(bounded(told({ title: 'a\u0000b\ud800' })).title, 'ab\ufffd');
    assert.deepEqual(
      [1, 2, 3, 11, 12].map((n) => retryAfter(n)),
      [5, 10, 20, 3_600, undefined],
    );
    assert.deepEqual([retryAfter(1, 60), retryAfter(1, 1e9)], [60, 3_600]);
    assert.equal(deepLink({ appScheme: 'svc' }, 'prompts', 'a/b'), 'svc://prompts/a%2Fb');
  });
});
