import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { isAllowedAction } from '@svc/contract';
import { wordsOf } from '@svc/words';
import { testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { bySystem } from '../../kernel/records/audit.ts';
import { shared } from '../../testing.shared.ts';
import { trustCertificate } from '../../testing.tls.ts';
import { clientOf, createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { endLogin } from '../auth/index.ts';
import { signIn } from '../me/me.testing.ts';
import { type EndOfCause, type NewNotification, notify, resolveNotifications } from './index.ts';
import { decrypt, newBrowser, TestMailServer, TestPushService, told } from './notifications.testing.ts';
import { waysOf } from './preferences/rules.ts';
import { pushPayload } from './push/payload.ts';

const now = Date.parse('2026-11-02T12:00:00Z');

describe('ways of notifications', () => {
  const clock = testClock(now);
  const push = new TestPushService();
  const mail = new TestMailServer();
  let account: TestAccount;
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(push).listen(opening.use(trustCertificate()));
    await opening.use(mail).listen();
    const settings = {
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_FETCH_PORTS: `443,${push.port}`,
      SVC_SMTP_URL: mail.url,
      SVC_MAIL_FROM: 'svc <bot@svc.test>',
    };
    const t = opening.use(await openTest({ clock, settings }));
    const all = opening.move();
    return { gateway: t.gateway, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const waiting = async () => (await gateway.kernel.sql`select 1 from notifications.deliveries`).length;
  const settled = () => until(async () => (await waiting()) === 0);
  beforeEach(async () => {
    await settled();
    account = await createAccount(gateway);
    push.pushed.length = 0;
    mail.mails.length = 0;
  });
  const tell = (change: Partial<NewNotification> = {}) =>
    inTransaction(gateway.kernel.sql, (tx) => notify(gateway.kernel, tx, told(account, change)));
  const resolve = (end: Omit<EndOfCause, 'accountId'>) =>
    inTransaction(gateway.kernel.sql, (tx) =>
      resolveNotifications(gateway.kernel, tx, [{ accountId: account.id, ...end }]),
    );
  const ask = (method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key: account.key, ...(body && { body }) });
  const prefer = async (...rules: object[]) => {
    const { status, body } = await ask('PUT', '/v1/notifications/preferences', { rules });
    assert.equal(status, 200, JSON.stringify(body));
  };
  const subscribe = (path: string, extra: object = {}, browser = newBrowser()) => {
    const body = { endpoint: `https://127.0.0.1:${push.port}${path}`, keys: browser.json, ...extra };
    return ask('POST', '/v1/push/subscriptions', body);
  };

  const age = () => gateway.kernel.sql`
    update notifications.subscriptions set last_seen_at = last_seen_at - interval '15 days'`;

  test('who reads the list and then follows its cursor misses nothing and is told nothing before it', async () => {
    await tell({ title: 'before' });
    const client = clientOf(gateway, account.key);
    const { cursor, notifications } = await client.notifications.list();
    assert.equal(notifications[0]?.title, 'before');
    await tell({ title: 'after' });
    const { events, missed } = await client.events.list({ query: { after: cursor, topics: 'notifications' } });
    assert.equal(missed, false);
    assert.deepEqual(
      events.map(({ record }) => record && 'title' in record && record.title),
      ['after'],
    );
  });

  test('buttons follow from type and subject, and each is an act of the list', async () => {
    const run = '15da3b35-656e-4b62-a470-5924b3131a96';
    const data = { run_id: run, schedule_id: run, heartbeat_id: run };
    const expected: Record<string, string[]> = {
      'schedule.approval': ['approve', 'skip'],
      'schedule.failed': ['rerun'],
      'schedule.late': ['cancel'],
      'schedule.host_approval': ['cancel'],
      'schedule.disabled': ['resume'],
      'heartbeat.down': ['pause'],
      'heartbeat.up': [],
    };
    for (const [type, first] of Object.entries(expected)) {
      await tell({ type, data, url: `svc://schedule-runs/${run}` });
      const { body } = await ask('GET', '/v1/notifications?limit=1');
      const [{ id, actions }] = body.notifications;
      const ids = (of: { id: string }[]) => of.map((one) => one.id);
      assert.deepEqual(ids(actions), [...first, 'open', 'read', 'archive'], type);
      assert.ok(actions.every(isAllowedAction), type);
      const archived = await ask('PATCH', `/v1/notifications/${id}`, { archived: true, read: true });
      assert.deepEqual(ids(archived.body.notification.actions), ['open'], type);
    }
    await tell({ type: 'heartbeat.down', data: { heartbeat_id: '../keys' }, url: 'svc://me' });
    const { body } = await ask('GET', '/v1/notifications?limit=1');
    assert.deepEqual(
      body.notifications[0].actions.map(({ id }: { id: string }) => id),
      ['read', 'archive'],
      'no path leads elsewhere',
    );
  });

  test('what is resolved is read, offers nothing and is told to who follows; what is news, or of others, stays', async () => {
    const run = '15da3b35-656e-4b62-a470-5924b3131a96';
    const approval = { type: 'schedule.approval', data: { run_id: run }, cause: 'run:1' };
    await tell(approval);
    await tell({ ...approval, type: 'schedule.late' });
    await tell({ type: 'heartbeat.up' });
    await inTransaction(gateway.kernel.sql, (tx) =>
      notify(gateway.kernel, tx, told({ id: crypto.randomUUID() }, { cause: 'run:1' })),
    );
    const { body: before } = await ask('GET', '/v1/notifications');
    assert.equal(before.unread_count, 3);
    await resolve({ cause: 'run:1', types: ['schedule.approval'], resolution: 'approved' });
    const { body } = await ask('GET', '/v1/notifications');
    assert.equal(body.unread_count, 2);
    const [, , one] = body.notifications;
    const at = new Date(clock.now()).toISOString();
    assert.deepEqual([one.resolution, one.resolved_at, one.read_at], ['approved', at, at]);
    assert.deepEqual(
      one.actions.map(({ id }: { id: string }) => id),
      ['archive'],
    );
    const { body: feed } = await ask('GET', `/v1/events?topics=notifications&after=${before.cursor}`);
    assert.deepEqual(
      feed.events.map(({ record }: { record: { resolution: string } }) => record.resolution),
      ['approved'],
    );
    await resolve({ cause: 'run:1', resolution: 'skipped' });
    const { notifications } = (await ask('GET', '/v1/notifications')).body;
    assert.deepEqual(
      notifications.map(({ resolution }: { resolution?: string }) => resolution),
      [undefined, 'skipped', 'approved'],
      'the first end counts',
    );
    const left = await gateway.kernel.sql`
      select from notifications.notifications where cause = 'run:1' and resolved_at is null`;
    assert.equal(left.length, 1, 'that of the other account');
  });

  test('a push that is over is withdrawn in silence; one that was not sent yet is sent by nobody', async () => {
    const browser = newBrowser();
    await subscribe('/over', {}, browser);
    await gateway.kernel.sql`update accounts.accounts set locale = 'ro' where id = ${account.id}`;
    await tell({ title: 'Deploy', type: 'schedule.approval', data: { run_id: account.id }, cause: 'run:2' });
    await settled();
    await resolve({ cause: 'run:2', resolution: 'approved' });
    await settled();
    const sent = push.pushed.map(({ body }) => JSON.parse(decrypt(browser, body)));
    const [shown, withdrawn] = sent.map(({ notification }) => notification);
    assert.deepEqual(
      [withdrawn.tag, withdrawn.title, withdrawn.body, withdrawn.silent],
      [shown.tag, 'Deploy', 'S-a aprobat.', true],
    );
    assert.deepEqual(
      [sent[1].svc.over, sent[1].svc.actions.map(({ id }: { id: string }) => id), sent[1].app_badge],
      [true, ['archive'], 0],
    );
    // Quiet hours hold it until it is over.
    await prefer({ type: '*', channels: ['push', 'mail'], quiet_hours: { from: '00:00', to: '23:59', tz: 'UTC' } });
    await tell({ cause: 'run:3' });
    await resolve({ cause: 'run:3', resolution: 'skipped' });
    assert.equal(await waiting(), 0);
    // A recovery takes the place of its alarm by itself.
    await prefer();
    await tell({ cause: 'run:4' });
    await settled();
    const { length } = push.pushed;
    await inTransaction(gateway.kernel.sql, async (tx) => {
      await notify(gateway.kernel, tx, told(account, { dedupeKey: 'up' }));
      const end = { accountId: account.id, cause: 'run:4', resolution: 'recovered', instead: 'up' } as const;
      await resolveNotifications(gateway.kernel, tx, [end]);
    });
    await settled();
    assert.equal(push.pushed.length, length + 1);
  });

  test('the first rule that names a type decides, and the inbox has what goes nowhere', async () => {
    await subscribe('/ruled');
    assert.deepEqual((await ask('GET', '/v1/notifications/preferences')).body, { rules: [] });
    await prefer(
      { type: 'heartbeat.down', channels: ['push'] },
      { type: 'heartbeat', channels: [] },
      { type: '*', min_severity: 'warning', channels: ['mail'] },
    );
    await tell({ type: 'heartbeat.down', severity: 'critical' });
    await tell({ type: 'heartbeat.up' });
    await tell({ type: 'prompt.due', severity: 'info' });
    await settled();
    assert.deepEqual([push.pushed.length, mail.mails.length], [1, 0]);
    await tell({ type: 'prompt.failed', severity: 'warning' });
    await settled();
    assert.deepEqual([push.pushed.length, mail.mails.length], [1, 1]);
    assert.equal((await ask('GET', '/v1/notifications')).body.unread_count, 4);
    await ask('POST', '/v1/notifications/test');
    await settled();
    assert.deepEqual([push.pushed.length, mail.mails.length], [2, 2], 'a test goes the way of none of them');
    await prefer({ type: '*', channels: [] });
    await tell({ type: 'login.new', severity: 'warning' });
    await settled();
    assert.equal(mail.mails.length, 3, 'nobody who got in switches that mail off');
    const { acts } = (await ask('GET', '/v1/audit?limit=1')).body;
    assert.equal(acts[0].action, 'notifications.setPreferences');
    const other = await createAccount(gateway);
    const theirs = await http(gateway.url, '/v1/notifications/preferences', { key: other.key });
    assert.deepEqual(theirs.body, { rules: [] });
  });

  test('quiet hours hold pushes and mail until they end', async () => {
    await subscribe('/quiet');
    // The clock stands within a minute before their end.
    const [from, to] = [-60_000, 60_000].map((ms) => new Date(clock.now() + ms).toISOString().slice(11, 16));
    const hours = { from, to, tz: 'UTC' };
    await prefer({ type: '*', channels: ['push', 'mail', 'webhook'], quiet_hours: hours });
    await tell();
    await prefer({ type: '*', channels: ['push'] });
    // Sent at once, it shows that the others are not.
    await tell();
    await until(async () => push.pushed.length === 1 && (await waiting()) === 2);
    assert.equal(mail.mails.length, 0);
    clock.advance(65_000);
    await settled();
    assert.deepEqual([push.pushed.length, mail.mails.length], [2, 1]);
  });

  test('preferences are bounded, and what is none is refused', async () => {
    const rule = { type: '*', channels: ['push'] };
    for (const rules of [
      Array.from({ length: 51 }, () => rule),
      [{ ...rule, type: 'Heartbeat.*' }],
      [{ ...rule, channels: ['sms'] }],
      [{ ...rule, min_severity: 'loud' }],
      [{ ...rule, quiet_hours: { from: '22:00', to: '22:00', tz: 'UTC' } }],
      [{ ...rule, quiet_hours: { from: '22:00', to: '24:00', tz: 'UTC' } }],
      [{ ...rule, quiet_hours: { from: '22:00', to: '07:00', tz: '+02:00' } }],
      undefined,
    ])
      assert.equal((await ask('PUT', '/v1/notifications/preferences', { rules })).status, 400, JSON.stringify(rules));
  });

  test('a browser is listed with when it was seen; a repeat counts as seen and keeps its name', async () => {
    const browser = newBrowser();
    await subscribe('/listed', { device_name: 'Phone', hide_contents: true }, browser);
    await age();
    const list = async () => (await ask('GET', '/v1/push/subscriptions')).body.subscriptions;
    const [away] = await list();
    assert.deepEqual(
      [away.device_name, away.silent, 'endpoint' in away, 'last_delivered_at' in away],
      ['Phone', true, false, false],
    );
    assert.equal((await subscribe('/listed', {}, browser)).status, 200);
    await tell({ title: 'Secret name', body: 'Secret text' });
    await settled();
    await until(async () => (await list())[0].last_delivered_at !== undefined);
    const [back] = await list();
    assert.deepEqual([back.device_name, back.silent], ['Phone', false]);
    assert.equal(back.last_seen_at, new Date(clock.now()).toISOString());
    const text = decrypt(browser, push.pushed[0]?.body as Buffer);
    assert.doesNotMatch(text, /Secret/, 'it still hides contents');
    for (let i = 0; i < 3; i++) {
      clock.advance(1_000);
      await subscribe(`/more/${i}`);
    }
    const first = (await ask('GET', '/v1/push/subscriptions?limit=3')).body;
    const rest = (await ask('GET', `/v1/push/subscriptions?limit=3&cursor=${first.next_cursor}`)).body;
    assert.deepEqual([first.subscriptions.length, rest.subscriptions.length, rest.next_cursor], [3, 1, undefined]);
    const stranger = await createAccount(gateway);
    const theirs = await http(gateway.url, '/v1/push/subscriptions', { key: stranger.key });
    assert.deepEqual(theirs.body, { subscriptions: [] });
  });

  test('a browser whose person was signed out of it is told no more, what waited included; another one is removed by its id', async () => {
    const login = await signIn(gateway, account);
    const keys = newBrowser().json;
    const endpoint = `https://127.0.0.1:${push.port}/lost`;
    assert.equal((await login.ask('POST', '/v1/push/subscriptions', { endpoint, keys })).status, 201);
    const id = (await subscribe('/kept')).body.subscription.id as string;
    await tell();
    await settled();
    const paths = () => push.pushed.splice(0).map(({ path }) => path);
    assert.deepEqual(paths().sort(), ['/kept', '/lost']);
    // It waits for a retry when the login ends.
    push.answers.set('/lost', [{ status: 503 }]);
    await tell();
    await until(async () => push.pushed.length === 2 && (await waiting()) === 1);
    await endLogin(gateway.kernel, { accountId: account.id, loginId: login.id, by: bySystem });
    push.pushed.length = 0;
    const { sql } = gateway.kernel;
    await until(
      async () => (await sql`select from notifications.subscriptions where login_id = ${login.id}`).length === 0,
    );
    await until(async () => {
      clock.advance(5_000);
      return (await waiting()) === 0;
    });
    await tell();
    await settled();
    assert.deepEqual(paths(), ['/kept']);
    const list = async () => (await ask('GET', '/v1/push/subscriptions')).body.subscriptions.length;
    assert.equal(await list(), 1);
    const stranger = await createAccount(gateway);
    const path = `/v1/push/subscriptions/${id}`;
    assert.equal((await http(gateway.url, path, { method: 'DELETE', key: stranger.key })).status, 404);
    assert.equal((await ask('DELETE', path)).body.deleted, true);
    assert.deepEqual([await list(), (await ask('DELETE', path)).status], [0, 404]);
  });

  test('mail goes in place of a browser that was not seen for two weeks, once, where mail gets to the account', async () => {
    await subscribe('/silent/1');
    await subscribe('/silent/2');
    await age();
    await subscribe('/awake');
    await prefer({ type: '*', channels: ['push'] });
    await tell();
    await settled();
    assert.deepEqual([push.pushed.map(({ path }) => path), mail.mails.length], [['/awake'], 1]);
    await gateway.kernel.sql`update accounts.accounts set email = 'ways@localhost' where id = ${account.id}`;
    await tell();
    await settled();
    assert.deepEqual([push.pushed.length, mail.mails.length], [4, 1], 'a push is better than nothing');
  });

  test('a push replaces the one of the same cause, fits, and says nothing where contents are hidden', () => {
    const record = {
      id: '15da3b35-656e-4b62-a470-5924b3131a96',
      type: 'heartbeat.down',
      title: 'ț'.repeat(200),
      body: '📱'.repeat(2_000),
      severity: 'critical',
      created_at: '2026-11-02T12:00:00.000Z',
      actions: [],
    } as const;
    const given = {
      record: { ...record, actions: [] },
      subscription: record.id,
      words: wordsOf('en').alerts,
      tag: 'heartbeat:1',
      navigate: 'https://hub.test/x/1',
      unread: 3,
    };
    const text = pushPayload({ ...given, hideContents: false });
    const { web_push, notification, svc } = JSON.parse(text);
    assert.ok(Buffer.byteLength(text) <= 3_500 && notification.body.length > 500 && notification.body.isWellFormed());
    assert.deepEqual([web_push, notification.tag, svc.id], [8030, 'heartbeat:1', record.id]);
    const hidden = JSON.parse(pushPayload({ ...given, hideContents: true }));
    assert.deepEqual([hidden.notification.title, 'body' in hidden.notification], ['A monitor is down', false]);
  });

  test('an alarm and its recovery have one tag; two runs that wait have two', async () => {
    const browser = newBrowser();
    await subscribe('/tags', {}, browser);
    const tagOf = async (change: Partial<NewNotification>) => {
      push.pushed.length = 0;
      await tell(change);
      await until(() => push.pushed.length === 1);
      return JSON.parse(decrypt(browser, push.pushed[0]?.body as Buffer)).notification.tag;
    };
    const [monitor, run] = [{ heartbeat_id: 'a' }, { run_id: '1', schedule_id: 's' }];
    const down = await tagOf({ type: 'heartbeat.down', data: monitor });
    assert.equal(await tagOf({ type: 'heartbeat.up', data: monitor }), down);
    assert.notEqual(await tagOf({ type: 'heartbeat.down', data: { heartbeat_id: 'b' } }), down);
    const failed = await tagOf({ type: 'schedule.failed', data: run });
    assert.equal(await tagOf({ type: 'schedule.changed', data: { ...run, run_id: '2' } }), failed);
    const waits = await tagOf({ type: 'schedule.approval', data: run });
    assert.notEqual(await tagOf({ type: 'schedule.approval', data: { ...run, run_id: '2' } }), waits);
  });

  test('rules: a type is named whole or by its beginning, never by a part of a word', () => {
    const ways = (type: string) => waysOf([{ type: 'schedule', channels: [] }], { type, severity: 'info' }, now);
    assert.deepEqual([ways('schedule.failed').push, ways('schedules.x').push], [false, true]);
  });
});
