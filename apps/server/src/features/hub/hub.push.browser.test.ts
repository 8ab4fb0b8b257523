import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { launchWholeBrowser, noWholeBrowser } from '../../testing.browser.ts';
import { until } from '../../testing.ts';
import { go, HubTest, type Opened, waitingRun, withWorker } from './hub.testing.ts';

/** A push that shows nothing in this time shows nothing. */
const pushMs = 20_000;

describe('pushes of the hub in a browser', { skip: noWholeBrowser }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open({}, undefined, launchWholeBrowser);
  });
  after(() => hub?.[Symbol.asyncDispose]());

  /** Pushes to a browser as its maker's service would, and presses buttons of what it shows. */
  const pushes = async ({ context, tab }: Opened) => {
    await context.grantPermissions(['notifications'], { origin: hub.origin });
    const devtools = await context.newCDPSession(tab);
    const registered = Promise.withResolvers<string>();
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [own] = registrations;
      if (own) registered.resolve(own.registrationId);
    });
    await devtools.send('ServiceWorker.enable');
    await tab.evaluate(async () => (navigator as any).serviceWorker.ready.then(() => undefined));
    const registrationId = await registered.promise;
    const worker = context.serviceWorkers()[0] ?? assert.fail('no worker');
    return {
      /** Delivers until it is shown: a browser that is busy may drop one. The same run replaces its note. */
      deliver: async (run: string, actions: object[], more: object = {}) => {
        const svc = { id: run, actions, ...more };
        const data = JSON.stringify({ notification: { title: 'Deploy', tag: run }, svc });
        const isShown = () =>
          worker.evaluate(
            async (tag) => (await (globalThis as any).registration.getNotifications({ tag })).length > 0,
            run,
          );
        await until(async () => {
          await devtools.send('ServiceWorker.deliverPushMessage', { origin: hub.origin, registrationId, data });
          for (let look = 0; look < 100; look += 1) if (await isShown()) return true;
          return false;
        }, pushMs);
      },
      /** Withdraws the note of a run until it is gone, as a page of ours is in view. */
      withdraw: async (run: string) => {
        const data = JSON.stringify({ notification: { title: 'Deploy', tag: run }, svc: { id: run, over: true } });
        await until(async () => {
          await devtools.send('ServiceWorker.deliverPushMessage', { origin: hub.origin, registrationId, data });
          return worker.evaluate(
            async (tag) => (await (globalThis as any).registration.getNotifications({ tag })).length === 0,
            run,
          );
        }, pushMs);
      },
      /** The note of a run; undefined while it is not shown. */
      note: (run: string): Promise<{ body: string; ids: string[] } | undefined> =>
        worker.evaluate(async (tag) => {
          const [note] = await (globalThis as any).registration.getNotifications({ tag });
          return note && { body: note.body, ids: note.actions.map((one: any) => one.action) };
        }, run),
      press: (run: string, action: string) =>
        worker.evaluate(
          async ([tag, pressed]) => {
            const scope = globalThis as any;
            const [notification] = await scope.registration.getNotifications({ tag });
            scope.dispatchEvent(new scope.NotificationEvent('notificationclick', { notification, action: pressed }));
          },
          [run, action],
        ),
    };
  };
  const decisions = (run: string) =>
    (['approve', 'skip'] as const).map((id) => ({
      id,
      method: 'POST',
      path: `/v1/schedule-runs/${run}/decision`,
      body: { decision: id },
    }));

  test('a push shows its buttons, and Approve arrives once, from our own origin, as the signed-in person', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { make, tab, words } = opened;
    const run = await waitingRun(opened);
    const { deliver, note, press, withdraw } = await pushes(opened);
    await deliver(run, decisions(run));
    assert.deepEqual((await note(run))?.ids, ['approve', 'skip']);
    await press(run, 'approve');
    await until(async () => (await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state === 'pending');
    await until(async () => (await note(run))?.body === 'Done', pushMs);
    // It is over for everybody: the inbox offers nothing, and other devices take their note away.
    await go(tab, '/notifications');
    const row = tab.locator('.row:not(.unread)', { hasText: 'awaits approval' });
    await row.getByText(words.alerts.resolutions.approved, { exact: true }).waitFor();
    await withdraw(run);
    // The record says what it is about, and the page makes the link, by whatever name this server is called there.
    await tab.route('**/v1/notifications/*', async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text()).replaceAll(hub.origin, 'http://127.0.0.1:1');
      await route.fulfill({ response: answer, body: text });
    });
    await row.getByRole('link').first().click();
    await tab.getByRole('link', { name: words.open, exact: true }).click();
    await tab.waitForURL(`${hub.origin}/hub/schedule-runs/${run}`);
    await go(tab, '/notifications');
    // A person who says no is told that they said no.
    await tab.evaluate(() => {
      (globalThis as any).Notification.requestPermission = () => Promise.resolve('denied');
    });
    await tab.getByRole('button', { name: words.push.enable, exact: true }).click();
    await tab.locator('.toast.bad').getByText(words.push.denied, { exact: true }).waitFor();
    assert.equal(await tab.getByText(words.push.enabled, { exact: true }).count(), 0);
  });

  test('a press for what was decided or cancelled says so, and a press without a network is sent when it is back', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { make, context, tab } = opened;
    const { deliver, note, press } = await pushes(opened);
    const stateOf = async (run: string) => (await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state;
    const decided = await waitingRun(opened, 'Decided');
    await make(`/v1/schedule-runs/${decided}/decision`, { decision: 'skip' });
    const cancelled = await waitingRun(opened, 'Cancelled');
    await make(`/v1/schedule-runs/${cancelled}/cancel`);
    for (const [run, state] of [
      [decided, 'skipped'],
      [cancelled, 'cancelled'],
    ] as const) {
      await deliver(run, decisions(run));
      await press(run, 'approve');
      await until(async () => (await note(run))?.body === 'It was decided already, or is over', pushMs);
      assert.equal(await stateOf(run), state);
    }
    const run = await waitingRun(opened, 'Away');
    const shownAt = context.waitForEvent('request', (request) => request.url().endsWith('/delivered'));
    await deliver(run, decisions(run), { subscription: run });
    // It tells the server that it came; that there is no such browser disturbs nobody.
    const arrival = await shownAt;
    assert.deepEqual([arrival.method(), arrival.postDataJSON()], ['POST', { notification_id: run }]);
    await context.setOffline(true);
    const away = randomUUID();
    await deliver(away, [], { subscription: run });
    await press(run, 'approve');
    await until(async () => (await note(run))?.body === 'Stored, not sent: there is no network', pushMs);
    assert.equal(await stateOf(run), 'awaiting_approval');
    await context.setOffline(false);
    await tab.reload();
    await until(async () => (await stateOf(run)) === 'pending');
    await until(async () => (await note(run))?.body === 'Done', pushMs);
  });

  test('a push whose button leads to another path, method or host has no such button, and presses nothing', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { context } = opened;
    const { deliver, note } = await pushes(opened);
    const asked: string[] = [];
    context.on('request', (request) => {
      if (request.method() !== 'GET') asked.push(request.url());
    });
    const run = await waitingRun(opened);
    const hostile = [
      { id: 'approve', method: 'DELETE', path: '/v1/me' },
      { id: 'approve', method: 'POST', path: `/v1/schedule-runs/${run}/../../me/reauth` },
      { id: 'approve', method: 'POST', path: 'https://evil.example/v1/schedule-runs/x/decision' },
      { id: 'rerun', method: 'POST', path: `//evil.example/v1/schedule-runs/${run}/rerun` },
    ];
    await deliver(run, hostile);
    assert.deepEqual((await note(run))?.ids, []);
    assert.deepEqual(asked, []);
  });
});
