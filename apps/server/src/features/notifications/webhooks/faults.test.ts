import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { createAccount, http, openTest, startGateway, type TestAccount, until } from '../../../testing.ts';
import { shared } from '../../../testing.shared.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { notify, notifyMany } from '../index.ts';
import { requestOf } from './rules.ts';
import { newBrowser, TestPushService, told } from '../notifications.testing.ts';

const base = '/v1/notifications/webhooks';
const day = 86_400_000;

describe('webhooks of notifications: receivers that fail', () => {
  const clock = testClock();
  const receiver = new TestPushService();
  const { pushed: received, answers, hanging } = receiver;
  let account: TestAccount;

  const { database, gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(receiver).listen(opening.use(trustCertificate()));
    const t = opening.use(await openTest({ clock, settings: settings() }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const settings = () => ({ SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${receiver.port}` });
  beforeEach(async () => {
    // First: a place that is free is taken at once by what else waits.
    await gateway.kernel.sql`delete from notifications.webhooks`;
    await gateway.kernel.sql`delete from notifications.deliveries`;
    account = await createAccount(gateway);
    while (hanging.length > 0) hanging.pop()?.destroy();
    received.length = 0;
    answers.clear();
  });

  const addressOf = (path: string) => `https://127.0.0.1:${receiver.port}${path}`;
  const ask = (method: string, path = '', body?: unknown) =>
    http(gateway.url, base + path, { method, key: account.key, ...(body !== undefined && { body }) });
  const register = async (path: string, change: object = {}): Promise<string> => {
    const answer = await ask('POST', '', { name: path, url: addressOf(path), ...change });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.id;
  };
  const tell = (change: object = {}) =>
    inTransaction(gateway.kernel.sql, (tx) => notify(gateway.kernel, tx, told(account, change)));
  const attemptsOf = async (id: string) => (await ask('GET', `/${id}/deliveries?limit=200`)).body.deliveries;
  const at = (path: string) => received.filter((one) => one.path === path);
  const failing = (n: number, status = 500) => Array.from({ length: n }, () => ({ status }));
  const titles = (path: string): string[] => at(path).map(({ body }) => JSON.parse(body.toString()).data.title);

  test('one whose stored address cannot be opened is listed as broken, switched off with a reason, and mended by a new address', async () => {
    const id = await register('/lost', { headers: { 'x-token': 'one' } });
    await register('/fine');
    await gateway.kernel.sql`update notifications.webhooks set sealed = '\\x00' where id = ${id}`;
    const { webhooks } = (await ask('GET')).body;
    const broken = webhooks.find((one: { id: string }) => one.id === id);
    assert.deepEqual([webhooks.length, broken.broken, broken.url], [2, true, '']);
    await tell();
    await until(async () => (await ask('GET', `/${id}`)).body.enabled === false);
    assert.equal((await ask('GET', `/${id}`)).body.disabled_reason, 'broken');
    await until(() => at('/fine').length === 2, 60_000);
    assert.deepEqual(titles('/fine').at(-1), 'Webhook /lost is switched off');
    const [attempt] = await attemptsOf(id);
    assert.deepEqual(
      [attempt.ok, attempt.reason, 'next_attempt_at' in attempt],
      [false, 'what is stored of it cannot be opened', false],
    );
    assert.equal((await gateway.kernel.sql`select 1 from notifications.deliveries where webhook_id = ${id}`).length, 0);
    assert.equal((await ask('POST', `/${id}/test`)).body.ok, false);
    for (const refused of [
      await ask('PATCH', `/${id}`, { enabled: true }),
      await ask('POST', `/${id}/rotate-secret`),
      await ask('PATCH', `/${id}`, { url: addressOf('/found'), headers: { 'x-token': '***' } }),
    ])
      assert.equal(refused.status, 400);
    const mended = await ask('PATCH', `/${id}`, { url: addressOf('/found'), enabled: true });
    assert.deepEqual([mended.body.url, mended.body.broken], [addressOf('/found'), undefined]);
    assert.match((await ask('POST', `/${id}/rotate-secret`)).body.secret, /^whsec_/);
    await tell();
    await until(() => at('/found').length === 1);
  });

  test('once one arrives, what waited for its next attempt goes out at once; what is being sent is not sent twice', async () => {
    const id = await register('/hang/recovering');
    for (const title of ['a', 'b', 'c', 'd']) await tell({ title });
    await until(() => hanging.length === 4);
    const path = '/hang/recovering';
    const answer = (title: string, status: number) => hanging[titles(path).indexOf(title)]?.writeHead(status).end();
    for (const title of ['a', 'b']) answer(title, 500);
    await until(async () => (await attemptsOf(id)).length === 2);
    await gateway.kernel.sql`
      update notifications.deliveries set due_at = due_at + interval '20 hours' where held_until is null`;
    await gateway.kernel.sql`
      update notifications.webhooks set failing_since = failing_since - interval '20 minutes' where id = ${id}`;
    answer('d', 200);
    await until(() => titles(path).length === 6);
    assert.deepEqual(titles(path).sort(), ['a', 'a', 'b', 'b', 'c', 'd']);
    hanging.splice(0).forEach((response) => response.destroy());
  });

  test('a late answer from an address that a webhook has no more says nothing of its new one', async () => {
    const id = await register('/hang/old');
    await tell();
    await until(() => hanging.length === 1);
    assert.equal((await ask('PATCH', `/${id}`, { url: addressOf('/new') })).status, 200);
    hanging.pop()?.writeHead(410).end();
    await until(() => at('/new').length === 1);
    await until(async () => (await attemptsOf(id)).length === 2);
    const now = (await ask('GET', `/${id}`)).body;
    assert.deepEqual([now.enabled, now.failing_since], [true, undefined]);
  });

  test('after a switch-off no attempt names a next one, nor does the one that was under way', async () => {
    const id = await register('/hang/off');
    await tell();
    await until(() => hanging.length === 1);
    hanging.pop()?.writeHead(500).end();
    await until(async () => (await attemptsOf(id))[0]?.next_attempt_at !== undefined);
    await tell();
    await until(() => hanging.length === 1);
    await ask('PATCH', `/${id}`, { enabled: false });
    hanging.pop()?.writeHead(500).end();
    await until(async () => (await attemptsOf(id)).length === 2);
    for (const attempt of await attemptsOf(id)) assert.equal('next_attempt_at' in attempt, false);
  });

  test('a 410 whose body never comes switches off, and a 2xx with an odd body has arrived', async () => {
    const gone = await register('/gone');
    const odd = await register('/odd');
    answers.set('/gone', [{ status: 410, headers: { 'content-length': '10' }, stuck: true }]);
    answers.set('/odd', [
      { status: 200, headers: { 'content-encoding': 'unheard-of', 'content-length': '5' }, stuck: true },
    ]);
    await tell();
    await until(async () => (await ask('GET', `/${gone}`)).body.disabled_reason === 'gone');
    await until(async () => (await attemptsOf(odd)).length >= 1);
    assert.equal((await attemptsOf(odd)).at(-1).ok, true);
  });

  test('the body of a message is the same on every attempt, whoever reads the notification meanwhile', async () => {
    const id = await register('/same');
    answers.set('/same', failing(1));
    await tell();
    await until(async () => (await attemptsOf(id)).length === 1);
    await http(gateway.url, '/v1/notifications/read-all', { method: 'POST', key: account.key });
    clock.advance(10_000);
    await until(() => at('/same').length === 2);
    const [first, second] = at('/same');
    assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);
    assert.equal(second?.body.toString(), first?.body.toString());
  });

  test('what waits is bounded: the oldest is dropped, and its attempts say so; one call for many passes no bound', async () => {
    const id = await register('/down');
    const body = { endpoint: addressOf('/hang/browser'), keys: newBrowser().json };
    assert.equal((await http(gateway.url, '/v1/push/subscriptions', { key: account.key, body })).status, 201);
    answers.set('/down', failing(1_000));
    await tell({ title: 'oldest' });
    await until(async () => (await attemptsOf(id)).length === 1);
    // Nothing that is due is taken meanwhile.
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    await inTransaction(gateway.kernel.sql, (tx) =>
      notifyMany(
        gateway.kernel,
        tx,
        Array.from({ length: 210 }, (_, n) => told(account, { title: `${n}` })),
      ),
    );
    const { sql } = gateway.kernel;
    const rows = await sql<{ title: string }[]>`
      select n.title from notifications.deliveries d join notifications.notifications n on n.id = d.notification_id
      where d.webhook_id = ${id} order by n.seq`;
    assert.equal(rows.length, 200);
    assert.ok(!rows.some(({ title }) => title === 'oldest'), 'the oldest goes first');
    const [pushes] = await sql<{ n: number }[]>`
      select count(*)::int as n from notifications.deliveries where subscription_id is not null and lane = ${account.id}`;
    assert.ok((pushes?.n ?? 0) <= 20, `${pushes?.n}`);
    await sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    const attempts = await attemptsOf(id);
    const dropped = attempts.filter(
      (one: { reason: string }) => one.reason === 'dropped: 200 more urgent or newer ones wait',
    );
    assert.equal(dropped.length, 11);
    const oldest = attempts.filter((one: { message_id: string }) => one.message_id === dropped.at(-1).message_id);
    assert.deepEqual(
      oldest.map((one: { reason: string }) => [one.reason, 'next_attempt_at' in one]),
      [
        ['dropped: 200 more urgent or newer ones wait', false],
        ['it answered 500', false],
      ],
    );
  });

  test('beyond the bound goes first what others caused, then news, then warnings, of the type that has most; what is urgent stays and goes out first', async () => {
    const id = await register('/back');
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    const many = (count: number, change: object) =>
      Array.from({ length: count }, (_, n) => told(account, { title: `${n}`, ...change }));
    const storm = async (...all: ReturnType<typeof told>[][]) => {
      for (const some of all) await inTransaction(sql, (tx) => notifyMany(gateway.kernel, tx, some));
    };
    const waiting = async () =>
      (
        await sql<{ type: string; n: number }[]>`
          select n.type, count(*)::int as n
          from notifications.deliveries d join notifications.notifications n on n.id = d.notification_id
          where d.webhook_id = ${id} group by 1 order by 1`
      ).map(({ type, n }) => [type, n]);
    await storm(
      many(1, { type: 'heartbeat.down', severity: 'critical', title: 'down' }),
      many(1, { type: 'schedule.approval', severity: 'warning', title: 'approve' }),
      many(300, { type: 'environment.invited', severity: 'critical', isOfOthers: true }),
      many(300, { type: 'schedule.succeeded' }),
      many(190, { type: 'schedule.late', severity: 'warning' }),
      many(2_000, { type: 'schedule.succeeded' }),
    );
    assert.deepEqual(await waiting(), [
      ['heartbeat.down', 1],
      ['schedule.approval', 1],
      ['schedule.late', 190],
      ['schedule.succeeded', 8],
    ]);
    await storm(many(500, { type: 'schedule.failed', severity: 'critical' }));
    assert.deepEqual(await waiting(), [
      ['heartbeat.down', 1],
      ['schedule.approval', 1],
      ['schedule.failed', 198],
    ]);
    // Enough to see who is first: four go out at once.
    await sql`
      delete from notifications.deliveries d using notifications.notifications n
      where n.id = d.notification_id and n.type = 'schedule.failed' and n.title::int < 490`;
    await storm(many(4, { type: 'schedule.succeeded', title: 'news' }));
    await sql`update notifications.deliveries set urgency = 1 where webhook_id = ${id} and notification_id in (
      select id from notifications.notifications where type = 'schedule.failed')`;
    await sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    await tell({ title: 'news' });
    await until(async () => (await waiting()).length === 0);
    assert.deepEqual(
      titles('/back')
        .slice(0, 4)
        .filter((title) => /^(down|approve)$/.test(title))
        .sort(),
      ['approve', 'down'],
    );
    assert.deepEqual(
      titles('/back')
        .slice(-4)
        .filter((title) => title !== 'news'),
      [],
    );
  });

  test('webhooks at which nothing arrives have one place each, and never the last one of their account', async () => {
    const { sql } = gateway.kernel;
    const kill = async (path: string) => {
      const id = await register(path);
      await sql`update notifications.webhooks set failing_since = now() where id = ${id}`;
    };
    const tried = () => received.filter(({ path }) => path.startsWith('/hang/dead/')).length;
    for (let n = 0; n < 2; n += 1) await kill(`/hang/dead/${n}`);
    const other = await register('/fine');
    for (let n = 0; n < 4; n += 1) await tell();
    await until(async () => (await attemptsOf(other)).length === 4);
    await until(() => tried() >= 2);
    assert.deepEqual(
      received
        .map(({ path }) => path)
        .filter((path) => path.startsWith('/hang/dead/'))
        .sort(),
      ['/hang/dead/0', '/hang/dead/1'],
    );
    for (let n = 2; n < 5; n += 1) await kill(`/hang/dead/${n}`);
    for (let n = 0; n < 4; n += 1) await tell();
    await until(async () => (await attemptsOf(other)).length === 8);
    await until(() => tried() >= 3);
    assert.equal(tried(), 3);
  });

  test('the webhooks of an account get its places in turn', async () => {
    const slow = await register('/hang/slow');
    await register('/quick', { types: ['quick'] });
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    for (let n = 0; n < 8; n += 1) await tell();
    await tell({ type: 'quick' });
    await gateway.kernel.sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    clock.advance(6_000);
    await until(() => at('/quick').length === 1);
    assert.ok((await attemptsOf(slow)).length === 0, 'nothing came to the end of its time for it');
  });

  test('an answer to an attempt whose time was over does not touch the one that followed', async () => {
    const id = await register('/hang/late');
    await tell();
    await until(() => hanging.length === 1);
    // Its lease ran out, and another process has it.
    await gateway.kernel.sql`update notifications.deliveries set attempts = attempts + 1 where webhook_id = ${id}`;
    const [before] = await gateway.kernel.sql`select * from notifications.deliveries where webhook_id = ${id}`;
    hanging.pop()?.writeHead(500).end();
    await until(async () => (await attemptsOf(id)).length === 1);
    assert.equal('next_attempt_at' in (await attemptsOf(id))[0], false);
    const [after] = await gateway.kernel.sql`select * from notifications.deliveries where webhook_id = ${id}`;
    assert.deepEqual(after, before);
  });

  test('a secret signs as long as was promised: one rotation too many is refused and says what to do', async () => {
    const id = await register('/rotated');
    const rotations = [];
    for (let n = 0; n < 4; n += 1) rotations.push((await ask('POST', `/${id}/rotate-secret`)).body);
    const refused = await ask('POST', `/${id}/rotate-secret`);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'too_many_secrets']);
    assert.ok(refused.body.error.message.includes(rotations[0].previous_until));
    await tell();
    await until(() => received.length === 1);
    assert.equal(received[0]?.headers['webhook-signature']?.split(' ').length, 5);
    await until(async () => (await attemptsOf(id)).length === 1);
    clock.leap(day);
    assert.equal((await ask('POST', `/${id}/rotate-secret`)).status, 200);
  });

  test('headers that are never sent, names that differ by case only, and types and topics that match nothing are refused', async () => {
    const refuses = async (change: object, field: string) => {
      const answer = await ask('POST', '', { name: 'x', url: addressOf('/x'), ...change });
      assert.deepEqual(
        [answer.status, Object.keys(answer.body.error.details.fieldErrors)[0]?.split('.')[0]],
        [400, field],
      );
    };
    for (const name of ['TE', 'Keep-Alive', 'upgrade', 'Expect', 'trailer', 'Proxy-Authorization', 'Host'])
      await refuses({ headers: { [name]: 'x' } }, 'headers');
    await refuses({ headers: { 'x-a': '1', 'X-A': '2' } }, 'headers');
    await refuses({ types: ['Heartbeat.down'] }, 'types');
    for (const way of ['json', 'sse', 'ws', 'raw', 'publish'])
      await refuses({ url: addressOf(`/topic/${way}`), format: 'ntfy' }, 'url');
    assert.equal(await register('/json', { format: 'ntfy' }).then(() => true), true);
    const id = await register('/typed', { types: ['test'] });
    await gateway.kernel.sql`update notifications.webhooks set types = array['Test'] where id = ${id}`;
    await tell();
    await until(() => at('/typed').length === 1);
  });

  test('rules: an ntfy message fits what its server takes, whatever it is made of; a blank text is no text for Slack', () => {
    const row = {
      ...told({ id: '' }),
      id: '',
      account_id: '',
      data: null,
      created_at: '2026-11-02T00:00:00Z',
    } as const;
    const config = { appScheme: 'svc', hubUrl: 'https://hub.test' };
    const requestFor = (format: 'ntfy' | 'slack', change: object) =>
      requestOf(format, 'https://a.test/t', {
        row: { ...row, read_at: null, archived_at: null, resolved_at: null, resolution: null, url: null, ...change },
        record: {},
        config,
      }).body;
    for (const body of ['\u0001'.repeat(4_000), '"'.repeat(4_000), '📱'.repeat(2_000), 'x'.repeat(4_000)]) {
      const sent = requestFor('ntfy', {
        title: '\u0001'.repeat(200),
        body,
        url: `https://a.test/${'"'.repeat(1_900)}`,
      });
      assert.ok(Buffer.byteLength(sent) <= 8_192, `${Buffer.byteLength(sent)}`);
      const { message } = JSON.parse(sent);
      assert.ok(message.isWellFormed() && Buffer.byteLength(message) <= 4_000);
    }
    const slack = JSON.parse(requestFor('slack', { title: 'Down', body: ' \n ' }));
    assert.deepEqual([slack.text, slack.blocks.length], ['Down', 2]);
    const blank = JSON.parse(requestFor('slack', { title: ' ', body: '' }));
    assert.equal(blank.text, 'test.told');
  });

  test('an account that is suspended before the last attempt gets it when it may run again', async () => {
    const id = await register('/last');
    answers.set('/last', failing(1));
    await tell();
    await until(async () => (await attemptsOf(id)).length === 1);
    await gateway.kernel.sql`update notifications.deliveries set attempts = 9 where webhook_id = ${id}`;
    await gateway.kernel
      .sql`update notifications.webhooks set failing_since = now() - interval '4 days' where id = ${id}`;
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    clock.leap(5 * day);
    await gateway.kernel.sql`update accounts.accounts set suspended_at = null where id = ${account.id}`;
    // At each look: a gateway that was busy while the clock leapt renews its lease first.
    await until(async () => {
      clock.advance(1_000);
      return (await attemptsOf(id)).length === 2;
    });
    assert.equal(at('/last').length, 2);
    const [last] = await attemptsOf(id);
    assert.deepEqual([last.attempt, last.ok], [10, true]);
    assert.equal((await ask('GET', `/${id}`)).body.enabled, true);
  });

  test('a shutdown notes the attempts that it ends: they are made again in their time, not by a lease that runs out', async () => {
    await using own = await startGateway(database, { clock, settings: settings() });
    const id = await register('/hang/stopped');
    await tell();
    await until(() => hanging.length === 1);
    const closing = Promise.all([own.close(), gateway.app.drain()]);
    await until(async () => {
      clock.advance(500);
      const [row] = await gateway.kernel.sql<{ held_until: string | null; attempts: number }[]>`
        select held_until, attempts from notifications.deliveries where webhook_id = ${id}`;
      return row?.held_until === null && row.attempts === 1;
    });
    await closing;
    const [attempt] = await gateway.kernel.sql`select * from notifications.webhook_attempts where webhook_id = ${id}`;
    assert.deepEqual([attempt?.['attempt'], attempt?.['reason']], [1, 'svc was stopped before it answered']);
    assert.notEqual(attempt?.['next_attempt_at'], null);
    assert.equal(received.length, 1);
  });
});
