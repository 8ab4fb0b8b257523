import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../../testing.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { notify } from '../index.ts';
import { decrypt, newBrowser, TestPushService, told } from '../notifications.testing.ts';

describe('notifications: whether a push came to its browser', () => {
  const clock = testClock(Date.parse('2026-11-02T12:00:00Z'));
  const push = new TestPushService();
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(push).listen(opening.use(trustCertificate()));
    const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${push.port}` };
    const t = opening.use(await openTest({ clock, settings }));
    const all = opening.move();
    return { gateway: t.gateway, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const person = async () => {
    const account = await createAccount(gateway);
    const ask = (method: string, path: string, body?: object) =>
      http(gateway.url, path, { method, key: account.key, ...(body && { body }) });
    return { account, ask, list: async () => (await ask('GET', '/v1/push/subscriptions')).body.subscriptions };
  };
  const tell = (account: TestAccount, key: string) =>
    inTransaction(gateway.kernel.sql, (tx) => notify(gateway.kernel, tx, told(account, { dedupeKey: key })));

  test('the push names its browser, whose word is kept once for each notification', async () => {
    const { account, ask, list } = await person();
    const browser = newBrowser();
    const endpoint = `https://127.0.0.1:${push.port}/came`;
    const { id } = (await ask('POST', '/v1/push/subscriptions', { endpoint, keys: browser.json })).body.subscription;
    await tell(account, 'one');
    await until(async () => (await list())[0].last_delivered_at !== undefined);
    const { svc } = JSON.parse(decrypt(browser, push.pushed.at(-1)?.body as Buffer));
    assert.equal(svc.subscription, id);
    assert.equal('delivered_at' in (await list())[0], false, 'a push service that took it says nothing of the browser');

    const path = `/v1/push/subscriptions/${svc.subscription}/delivered`;
    const say = (notification_id: unknown) => ask('POST', path, { notification_id });
    const at = new Date(clock.now()).toISOString();
    const answers = await Promise.all([say(svc.id), say(svc.id)]);
    for (const { status, body } of answers) assert.deepEqual([status, body], [200, { delivered_at: at }]);
    clock.advance(5_000);
    assert.deepEqual((await say(svc.id)).body, { delivered_at: at });
    assert.equal((await list())[0].delivered_at, at);
    await tell(account, 'two');
    const [newest] = (await ask('GET', '/v1/notifications?limit=1')).body.notifications;
    assert.deepEqual((await say(newest.id)).body, { delivered_at: new Date(clock.now()).toISOString() });
  });

  test('of what the account has not, and in other shapes, nothing is kept', async () => {
    const [own, other] = [await person(), await person()];
    const subscribed = async ({ ask }: typeof own, path: string) => {
      const body = { endpoint: `https://127.0.0.1:${push.port}/${path}`, keys: newBrowser().json };
      return (await ask('POST', '/v1/push/subscriptions', body)).body.subscription.id as string;
    };
    const ids = [await subscribed(own, 'own'), await subscribed(other, 'other')] as const;
    for (const { account } of [own, other]) await tell(account, 'x');
    const notice = async ({ ask }: typeof own) => (await ask('GET', '/v1/notifications')).body.notifications[0].id;
    const notices = [await notice(own), await notice(other)] as const;
    const say = (id: string, body: object) => own.ask('POST', `/v1/push/subscriptions/${id}/delivered`, body);
    for (const [id, notification_id] of [
      [ids[0], notices[1]],
      [ids[1], notices[0]],
      [ids[1], notices[1]],
      [ids[0], randomUUID()],
      [randomUUID(), notices[0]],
    ] as const)
      assert.equal((await say(id, { notification_id })).body.error.code, 'not_found');
    for (const body of [{}, { notification_id: null }, { notification_id: 7 }, { notification_id: ['x'] }, []])
      assert.equal((await say(ids[0], body)).status, 400, JSON.stringify(body));
    assert.equal((await say('x', { notification_id: notices[0] })).status, 400);
    for (const { list } of [own, other]) assert.equal('delivered_at' in (await list())[0], false);
  });
});
