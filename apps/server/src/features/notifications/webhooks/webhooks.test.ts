import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { createOutbound } from '../../../kernel/outside/outbound.ts';
import { asOwner, createAccount, http, openTest, type TestAccount, until } from '../../../testing.ts';
import { shared } from '../../../testing.shared.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { type NewNotification, notify } from '../index.ts';
import { sweepNotifications } from '../notifications.jobs.ts';
import { newBrowser, type Received, TestPushService, told, verifyWebhook as verify } from '../notifications.testing.ts';
import { askedSeconds, requestOf, topicOf, webhookRetryAfter } from './rules.ts';

const base = '/v1/notifications/webhooks';
const day = 86_400_000;

describe('webhooks of notifications', () => {
  const clock = testClock();
  const log = new PassThrough();
  let logged = '';
  const receiver = new TestPushService();
  const { pushed: received, answers, hanging } = receiver;
  let account: TestAccount;

  const { database, gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(receiver).listen(opening.use(trustCertificate()));
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    const settings = {
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_FETCH_PORTS: `443,${receiver.port}`,
      SVC_LOG_LEVEL: 'info',
      SVC_HUB_URL: 'https://hub.example.com',
    };
    const t = opening.use(await openTest({ clock, settings, log }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(async () => {
    await gateway.kernel.sql`delete from notifications.deliveries`;
    account = await createAccount(gateway);
    received.length = 0;
    answers.clear();
  });

  const addressOf = (path: string) => `https://127.0.0.1:${receiver.port}${path}`;
  const ask = (method: string, path = '', body?: unknown, key = account.key) =>
    http(gateway.url, base + path, { method, key, ...(body !== undefined && { body }) });
  const register = async (path: string, change: object = {}, key = account.key) => {
    const answer = await ask('POST', '', { name: path, url: addressOf(path), ...change }, key);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body as { id: string; secret: string; url: string };
  };
  const tell = (change: Partial<NewNotification> = {}, to = account) =>
    inTransaction(gateway.kernel.sql, (tx) => notify(gateway.kernel, tx, told(to, change)));
  const attemptsOf = async (id: string) => (await ask('GET', `/${id}/deliveries?limit=200`)).body.deliveries;
  const inbox = async () => (await http(gateway.url, '/v1/notifications', { key: account.key })).body.notifications;
  const at = (path: string) => received.filter((one) => one.path === path);

  test('what is sent is signed as Standard Webhooks says, and carries the notification as the inbox shows it', async () => {
    const { secret, id } = await register('/signed?x=1', { headers: { authorization: 'Bearer of-the-receiver' } });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    await tell({ title: 'Ștefan 📱', url: 'svc://a/b', data: { n: 1 }, severity: 'critical' });
    await until(() => received.length === 1);
    const [request] = received as [Received];
    assert.equal(verify(request, secret), 0);
    assert.equal(verify({ ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) }, secret), -1);
    assert.equal(verify(request, `whsec_${Buffer.alloc(32).toString('base64')}`), -1);
    const { headers, path } = request;
    assert.equal(path, '/signed?x=1');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['authorization'], 'Bearer of-the-receiver');
    assert.equal(headers['webhook-timestamp'], String(Math.floor(clock.now() / 1000)));
    const [record] = await inbox();
    assert.deepEqual(JSON.parse(request.body.toString()), {
      type: 'test.told',
      timestamp: record.created_at,
      data: record,
    });
    await until(async () => (await attemptsOf(id)).length === 1);
    const [attempt] = await attemptsOf(id);
    assert.deepEqual(
      [attempt.message_id, attempt.notification_id, attempt.attempt, attempt.ok, attempt.status],
      [headers['webhook-id'], record.id, 1, true, 201],
    );
    assert.equal('next_attempt_at' in attempt, false);
  });

  test('Slack and ntfy get their own shapes; of ntfy the plain address of a topic is enough', async () => {
    await register('/services/T0/B0/x', { format: 'slack' });
    await register('/my-topic?auth=abc', { format: 'ntfy' });
    await tell({ title: 'Down <!channel>', body: 'a & b', url: 'svc://schedules/1', severity: 'critical' });
    await until(() => received.length === 2);
    const slack = JSON.parse(at('/services/T0/B0/x')[0]?.body.toString() ?? '');
    assert.equal(slack.text, 'Down &lt;!channel&gt;: a &amp; b');
    assert.deepEqual(
      slack.blocks.map((block: { type: string }) => block.type),
      ['header', 'section', 'section', 'context'],
    );
    assert.deepEqual(slack.blocks[1].text, { type: 'plain_text', text: 'a & b', emoji: false });
    assert.equal(slack.blocks[2].text.text, '<https://hub.example.com/schedules/1|Open>');
    const [ntfy] = at('/?auth=abc');
    assert.deepEqual(JSON.parse(ntfy?.body.toString() ?? ''), {
      topic: 'my-topic',
      title: 'Down <!channel>',
      message: 'a & b',
      priority: 5,
      tags: ['rotating_light', 'test.told'],
      click: 'https://hub.example.com/schedules/1',
    });
    const refused = await ask('POST', '', { name: 'x', url: addressOf('/a/b/'), format: 'ntfy' });
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['url']]);
  });

  test('a failed delivery comes again under its id, later and later; after three days the webhook is switched off and its account told by other ways', async () => {
    const { id, secret } = await register('/down');
    const browserless = await register('/up', { types: ['notification'] });
    answers.set(
      '/down',
      Array.from({ length: 20 }, () => ({ status: 500 })),
    );
    await tell();
    const first = clock.now();
    const waits: number[] = [];
    for (let n = 1; ; n += 1) {
      await until(async () => (await attemptsOf(id)).length === n);
      const [attempt] = await attemptsOf(id);
      assert.deepEqual([attempt.attempt, attempt.status, attempt.reason], [n, 500, 'it answered 500']);
      if (attempt.next_attempt_at === undefined) break;
      const ms = Date.parse(attempt.next_attempt_at) - clock.now();
      waits.push(ms / 1000);
      assert.equal((await ask('GET', `/${id}`)).body.failing_since, new Date(first).toISOString());
      clock.leap(ms);
    }
    const planned = [5, 30, 120, 600, 3_600, 21_600, 86_400, 86_400, 86_400];
    assert.equal(waits.length, planned.length);
    for (const [i, wait] of waits.entries()) {
      const least = planned[i] as number;
      assert.ok(wait >= least && wait <= least * 1.2 + 1, `${i}: ${wait}`);
    }
    const requests = at('/down');
    assert.equal(requests.length, 10);
    assert.equal(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.ok(new Set(requests.map(({ headers }) => headers['webhook-timestamp'])).size > 5, 'each is of its instant');
    for (const request of requests) assert.equal(verify(request, secret), 0);
    const off = (await ask('GET', `/${id}`)).body;
    assert.deepEqual([off.enabled, off.disabled_reason], [false, 'failing']);
    const [news] = await inbox();
    assert.deepEqual([news.type, news.data.webhook_id], ['notification.webhook_disabled', id]);
    await until(() => at('/up').length === 1);
    assert.equal(at('/down').length, 10, 'the news does not go there');
    await tell();
    await until(async () => (await attemptsOf(browserless.id)).length === 1);
    assert.equal(at('/down').length, 10);
    const on = (await ask('PATCH', `/${id}`, { enabled: true })).body;
    assert.deepEqual([on.enabled, on.disabled_reason, on.failing_since], [true, undefined, undefined]);
    answers.clear();
    await tell();
    await until(() => at('/down').length === 11);
  });

  test('a webhook with another address begins anew: what failed at the old one says nothing of it', async () => {
    const { id } = await register('/old');
    answers.set('/old', [{ status: 500 }]);
    await tell();
    await until(async () => (await ask('GET', `/${id}`)).body.failing_since !== undefined);
    assert.notEqual((await ask('PATCH', `/${id}`, { name: 'same' })).body.failing_since, undefined);
    assert.equal((await ask('PATCH', `/${id}`, { url: addressOf('/new') })).body.failing_since, undefined);
  });

  test('one notification that is refused for days switches nothing off while others arrive', async () => {
    const { id } = await register('/picky');
    answers.set('/picky', [{ status: 500 }, { status: 500 }]);
    await tell({ title: 'refused' });
    await until(async () => (await attemptsOf(id)).length === 1);
    clock.advance(10_000);
    await until(async () => (await attemptsOf(id)).length === 2);
    await tell({ title: 'fine' });
    await until(async () => (await attemptsOf(id)).length === 3);
    assert.equal((await ask('GET', `/${id}`)).body.failing_since, undefined);
    await gateway.kernel.sql`update notifications.deliveries set attempts = 9 where webhook_id = ${id}`;
    answers.set('/picky', [{ status: 500 }]);
    clock.leap(60_000);
    await until(async () => (await attemptsOf(id)).length === 4);
    const [last] = await attemptsOf(id);
    assert.deepEqual([last.attempt, last.next_attempt_at], [10, undefined]);
    assert.equal((await ask('GET', `/${id}`)).body.enabled, true);
  });

  test('410 switches it off at once; Retry-After is waited for; a redirect is not followed', async () => {
    const gone = await register('/gone');
    answers.set('/gone', [{ status: 410 }]);
    await tell();
    await until(async () => (await ask('GET', `/${gone.id}`)).body.enabled === false);
    assert.equal((await ask('GET', `/${gone.id}`)).body.disabled_reason, 'gone');
    assert.equal((await inbox())[0].type, 'notification.webhook_disabled');
    const busy = await register('/busy');
    answers.set('/busy', [{ status: 503, headers: { 'retry-after': '1800' } }]);
    const moved = await register('/moved');
    answers.set('/moved', [{ status: 307, headers: { location: addressOf('/elsewhere') } }]);
    await tell();
    await until(async () => (await attemptsOf(busy.id)).length === 1 && (await attemptsOf(moved.id)).length === 1);
    const [attempt] = await attemptsOf(busy.id);
    assert.equal(Date.parse(attempt.next_attempt_at), clock.now() + 1_800_000);
    assert.match((await attemptsOf(moved.id))[0].reason, /^it answered 307; redirects are not followed$/);
    assert.equal(at('/elsewhere').length, 0);
    const second = Math.floor(clock.now() / 1000) * 1_000;
    const asked = (value: string | undefined) => askedSeconds(value, second);
    const date = new Date(second + 9_000).toUTCString();
    assert.deepEqual(['90', '1e9', date, 'soon', undefined].map(asked), [90, 0, 9, 0, 0]);
    assert.deepEqual(
      [webhookRetryAfter(1, 1e9), webhookRetryAfter(1, 0, 0), webhookRetryAfter(10)],
      [21_600, 5, undefined],
    );
  });

  test('after a rotation both secrets sign for a day, then the new one alone', async () => {
    const { id, secret } = await register('/rotated');
    const rotation = await ask('POST', `/${id}/rotate-secret`);
    assert.equal(Date.parse(rotation.body.previous_until), clock.now() + day);
    assert.notEqual(rotation.body.secret, secret);
    await tell();
    await until(() => received.length === 1);
    assert.deepEqual(
      [secret, rotation.body.secret].map((one) => verify(received[0] as Received, one)),
      [1, 0],
    );
    // One that is still under way when a day has gone would be taken for lost, and sent again.
    await until(async () => (await attemptsOf(id)).length === 1);
    clock.leap(day);
    await tell();
    await until(() => {
      clock.advance(1_000);
      return received.length > 1;
    });
    assert.deepEqual(
      [secret, rotation.body.secret].map((one) => verify(received.at(-1) as Received, one)),
      [-1, 0],
    );
    assert.equal('secret' in (await ask('GET', `/${id}`)).body, false);
  });

  test('an address that is no public https address is refused in one and the same words', async () => {
    const messages = new Set<string>();
    for (const url of [
      `http://127.0.0.2:${receiver.port}/x`,
      'https://127.0.0.1:22/x',
      'https://10.0.0.1/x',
      'https://169.254.169.254/latest',
      'https://[::1]/x',
      'https://localhost/x',
      'https://metadata.google.internal/x',
      'https://no-such-name.invalid/x',
      'nonsense',
    ]) {
      const answer = await ask('POST', '', { name: 'x', url });
      assert.equal(answer.status, 400, url);
      messages.add(JSON.stringify(answer.body));
    }
    assert.equal(messages.size, 1);
    const named = await ask('POST', '', { name: 'x', url: 'https://user:pass@example.com/x' });
    assert.match(named.body.error.message, /must have no user and password in it; send them as a header/);
    assert.ok(!JSON.stringify(named.body).includes('pass@'));
    const { id } = await register('/mine');
    assert.equal((await ask('PATCH', `/${id}`, { url: 'https://10.0.0.1/x' })).status, 400);
    for (const headers of [
      { 'Webhook-Id': 'x' },
      { host: 'x' },
      { 'content-length': '1' },
      { a: 'b\r\nc: d' },
      { a: '***' },
    ])
      assert.equal((await ask('POST', '', { name: 'x', url: addressOf('/x'), headers })).status, 400);
  });

  test('a name that later leads into this network is refused when it is sent to, and nothing tells where it led', async () => {
    let address = '93.184.215.14';
    const { kernel } = gateway;
    const { outbound } = kernel;
    const resolve = async () => [address];
    const rules = { fetchAllowHosts: [], fetchPorts: [443, receiver.port] };
    Object.assign(kernel, { outbound: createOutbound(rules, clock, { public: resolve, here: resolve }) });
    try {
      const url = `https://hook.example.com:${receiver.port}/rebound`;
      const { body } = await ask('POST', '', { name: 'rebound', url });
      address = '127.0.0.1';
      await tell();
      await until(async () => (await attemptsOf(body.id)).length === 1);
      const tried = await ask('POST', `/${body.id}/test`);
      assert.deepEqual([tried.body.ok, tried.body.status], [false, undefined]);
      for (const { reason } of [tried.body, (await attemptsOf(body.id))[0]])
        assert.equal(reason, 'this address is not allowed');
      assert.equal(received.length, 0);
    } finally {
      Object.assign(kernel, { outbound });
    }
  });

  test('a webhook gets the types that it wants, and whatever begins with them', async () => {
    await register('/some', { types: ['heartbeat', 'schedule.failed'] });
    await register('/all');
    for (const type of ['heartbeat.down', 'heartbeats.down', 'schedule.failed', 'schedule.late', 'heartbeat'])
      await tell({ type });
    await until(() => at('/all').length === 5 && at('/some').length === 3);
    const types = at('/some').map(({ body }): string => JSON.parse(body.toString()).type);
    assert.deepEqual(types.sort(), ['heartbeat', 'heartbeat.down', 'schedule.failed']);
  });

  test('webhooks that hang hold up neither another account nor browsers, and their backlog is bounded', async () => {
    const slow = [account, ...(await Promise.all(Array.from({ length: 6 }, () => createAccount(gateway))))];
    for (const [i, { key }] of slow.entries()) await register(`/hang/${i}`, {}, key);
    const { id: many } = (await ask('GET')).body.webhooks[0];
    const other = await createAccount(gateway);
    const { id } = await register('/fine', {}, other.key);
    const body = { endpoint: addressOf('/browser'), keys: newBrowser().json };
    await http(gateway.url, '/v1/push/subscriptions', { key: account.key, body });
    for (const each of slow) for (let n = 0; n < 5; n += 1) await tell({}, each);
    // Every place is taken, by at most four of one account: nothing that hangs comes to the end of its time.
    await until(() => hanging.length === 24 && at('/browser').length === 5);
    for (let i = 0; i < slow.length; i += 1) assert.ok(at(`/hang/${i}`).length <= 4);
    // The others' waiting deliveries are older; still the next places go to accounts that have none.
    clock.advance(1);
    await tell({}, other);
    const before = received.length;
    for (const response of hanging.splice(0, 2)) response.writeHead(200).end();
    // A third follows when the receiver that is fine has answered, so that it comes after it.
    await until(() => received.length >= before + 2);
    assert.equal(at('/fine').length, 1, 'one of the next two');
    await until(async () => (await ask('GET', `/${id}/deliveries`, undefined, other.key)).body.deliveries.length === 1);
    await inTransaction(gateway.kernel.sql, async (tx) => {
      for (let n = 0; n < 210; n += 1) await notify(gateway.kernel, tx, told(account));
    });
    const [row] = await gateway.kernel.sql<{ n: number }[]>`
      select count(*)::int as n from notifications.deliveries where webhook_id = ${many}`;
    assert.equal(row?.n, 200);
    await gateway.kernel.sql`delete from notifications.webhooks`;
    await gateway.kernel.sql`delete from notifications.subscriptions`;
    while (hanging.length > 0) hanging.pop()?.writeHead(200).end();
  });

  test('nothing of an account that may not run is sent; it goes out when it may', async () => {
    const { sql } = gateway.kernel;
    await register('/waiting');
    const other = await createAccount(gateway);
    await register('/running', {}, other.key);
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    await tell();
    await tell({}, other);
    await until(() => at('/running').length === 1);
    clock.advance(20_000);
    await tell({}, other);
    await until(() => at('/running').length === 2);
    assert.equal(at('/waiting').length, 0);
    await sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    clock.advance(10_000);
    await until(() => at('/waiting').length === 1);
  });

  test('a test of one tells how it went, one of all says where it arrived, and both are among the attempts', async () => {
    const { id, secret } = await register('/tried', { types: ['heartbeat'] });
    clock.advance(1);
    const off = await register('/off', { enabled: false });
    const tried = await ask('POST', `/${id}/test`);
    assert.deepEqual([tried.status, tried.body.ok, tried.body.status], [200, true, 201]);
    assert.equal(JSON.parse(received[0]?.body.toString() ?? '').type, 'notification.test');
    assert.equal(verify(received[0] as Received, secret), 0);
    answers.set('/tried', [{ status: 404 }]);
    const failed = (await ask('POST', `/${id}/test`)).body;
    assert.deepEqual([failed.ok, failed.status, failed.reason], [false, 404, 'it answered 404']);
    assert.equal((await inbox()).length, 0);
    const all = await http(gateway.url, '/v1/notifications/test', { method: 'POST', key: account.key });
    assert.deepEqual(all.body.targets.slice(-2), [
      { channel: 'webhook', to: '/off', sent: false, reason: 'it is switched off' },
      { channel: 'webhook', to: '/tried', sent: true, outcome: 'delivered', status: 201 },
    ]);
    await until(async () => (await attemptsOf(id)).length === 3);
    assert.equal((await ask('POST', `/${off.id}/test`)).body.ok, true, 'one that is off can be tested');
    const { sql } = gateway.kernel;
    await sql`insert into notifications.webhook_attempts
      (webhook_id, message_id, type, at, attempt, ok, duration_ms)
      select ${id}, 'm', 't', now() - interval '8 days', 1, true, 1 from generate_series(1, 300)`;
    await ask('POST', `/${id}/test`);
    const [row] = await sql`select count(*)::int as n from notifications.webhook_attempts where webhook_id = ${id}`;
    assert.equal(row?.['n'], 200);
    await sweepNotifications.run(gateway.kernel);
    assert.equal((await attemptsOf(id)).length, 1);
    await sql`delete from kernel.rate_windows`;
    const statuses = new Set<number>();
    for (let n = 0; n < 70 && !statuses.has(429); n += 1) statuses.add((await ask('POST', `/${off.id}/test`)).status);
    assert.ok(statuses.has(429), 'an account cannot make the platform send without end');
    const every = await http(gateway.url, '/v1/notifications/test', { method: 'POST', key: account.key });
    assert.equal(every.status, 429, 'nor by telling all of its channels');
  });

  test('no secret is in an answer, a log line or the database', async () => {
    const before = logged.length;
    const headers = { 'X-Token': 'header-secret-1', 'x-other': 'header-secret-2' };
    const { id, secret } = await register('/path-secret', { headers });
    const old = secret.replace('whsec_', '');
    const fresh = (await ask('POST', `/${id}/rotate-secret`)).body.secret.replace('whsec_', '');
    answers.set('/path-secret', [{ status: 410 }]);
    await tell();
    await until(async () => (await ask('GET', `/${id}`)).body.enabled === false);
    const record = (await ask('GET', `/${id}`)).body;
    assert.deepEqual(record.headers, { 'X-Token': '***', 'x-other': '***' });
    const reader = await createAccount(gateway, { scopes: ['notifications:read'] });
    await gateway.kernel.sql`update keys.keys set account_id = ${account.id} where id = ${reader.keyId}`;
    const seen = await ask('GET', `/${id}`, undefined, reader.key);
    assert.equal(seen.body.url, `https://127.0.0.1:${receiver.port}`, 'the address of a chat is a credential');
    const dump = await asOwner(database, async (sql) => {
      const rows = await sql<{ text: string }[]>`
        select w::text as text from notifications.webhooks w union all
        select a::text from notifications.webhook_attempts a union all select d::text from notifications.deliveries d
        union all select n::text from notifications.notifications n union all
        select i::text || convert_from(coalesce(i.response, ''), 'latin1') from kernel.idempotency i`;
      return rows.map(({ text }) => text).join('\n');
    });
    const answered = JSON.stringify([record, await attemptsOf(id), await inbox(), (await ask('GET')).body]);
    for (const hidden of ['header-secret-1', 'header-secret-2', old, fresh]) {
      for (const [place, text] of Object.entries({ log: logged.slice(before), dump, answered }))
        assert.ok(!text.includes(hidden), `${hidden} in ${place}`);
    }
    assert.ok(
      !logged.slice(before).includes('path-secret') &&
        !dump.replaceAll(/"?\/path-secret"?,svc/g, '').includes(addressOf('/path-secret')),
    );
  });

  test('stored headers are kept by ***, and never follow to another server', async () => {
    const { id } = await register('/first', { headers: { 'X-Token': 'one', 'x-b': 'two' } });
    const changed = await ask('PATCH', `/${id}`, { headers: { 'x-token': '***', 'x-c': 'three' } });
    assert.deepEqual(changed.body.headers, { 'x-token': '***', 'x-c': '***' });
    await tell();
    await until(() => received.length === 1);
    const { headers } = received[0] as Received;
    assert.deepEqual([headers['x-token'], headers['x-b'], headers['x-c']], ['one', undefined, 'three']);
    assert.equal((await ask('PATCH', `/${id}`, { headers: { 'x-b': '***' } })).status, 400);
    const elsewhere = 'https://93.184.215.14/x';
    for (const change of [{}, { headers: { 'x-token': '***' } }]) {
      const refused = await ask('PATCH', `/${id}`, { url: elsewhere, ...change });
      assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['headers']]);
    }
    assert.equal((await ask('PATCH', `/${id}`, { url: addressOf('/second') })).status, 200);
    assert.equal((await ask('PATCH', `/${id}`, { url: elsewhere, headers: null })).body.headers, undefined);
  });

  test('webhooks of an account are bounded, listed in pages, and deleted with what waits for them', async () => {
    for (let n = 0; n < 20; n += 1) await register(`/n${n}`);
    const refused = await ask('POST', '', { name: 'x', url: addressOf('/x') });
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'quota_exceeded']);
    const page = (await ask('GET', '?limit=15')).body;
    const rest = (await ask('GET', `?limit=15&cursor=${page.next_cursor}`)).body;
    assert.deepEqual([page.webhooks.length, rest.webhooks.length, rest.next_cursor], [15, 5, undefined]);
    const { id } = [...page.webhooks, ...rest.webhooks].find(({ name }: { name: string }) => name === '/n0');
    answers.set('/n0', [{ status: 500 }]);
    await tell();
    await until(async () => (await attemptsOf(id)).length === 1);
    assert.deepEqual((await ask('DELETE', `/${id}`)).body, { deleted: true, id });
    assert.equal((await ask('DELETE', `/${id}`)).status, 404);
    assert.equal((await gateway.kernel.sql`select 1 from notifications.deliveries where webhook_id = ${id}`).length, 0);
  });

  test('rules: what does not fit is cut, and topics are found', () => {
    const row = {
      id: randomUUID(),
      account_id: '',
      type: 't',
      title: '',
      body: '',
      url: null,
      severity: 'info',
      data: null,
      created_at: new Date(0).toISOString(),
      read_at: null,
      resolved_at: null,
      resolution: null,
      archived_at: null,
    } as const;
    const config = { appScheme: 'svc', hubUrl: 'https://hub.test' };
    const long = { ...row, title: 'ț'.repeat(200), body: '📱'.repeat(2_000), url: 'other://a' };
    const slack = JSON.parse(requestOf('slack', 'https://a.test/', { row: long, record: {}, config }).body);
    assert.ok(slack.blocks[0].text.text.length <= 150 && slack.blocks[1].text.text.length <= 3_000);
    assert.equal(slack.blocks.length, 3, 'Slack takes no address of an app');
    const ntfy = JSON.parse(requestOf('ntfy', 'https://a.test/t', { row: long, record: {}, config }).body);
    assert.ok(Buffer.byteLength(ntfy.message) <= 4_000 && ntfy.message.isWellFormed());
    assert.equal(ntfy.click, 'other://a');
    const own = requestOf('ntfy', 'https://a.test/t', { row: { ...row, url: 'svc://a/1' }, record: {}, config });
    assert.equal(JSON.parse(own.body).click, 'https://hub.test/a/1');
    assert.deepEqual(topicOf('https://ntfy.sh/topic'), { topic: 'topic', publishUrl: 'https://ntfy.sh/' });
    assert.deepEqual(['https://ntfy.sh/', 'https://ntfy.sh/a%20b'].map(topicOf), [undefined, undefined]);
  });
});
