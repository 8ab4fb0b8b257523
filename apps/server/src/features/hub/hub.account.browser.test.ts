import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { noBrowser } from '../../testing.browser.ts';
import { http, until } from '../../testing.ts';
import { type Platform } from '../auth/auth.testing.ts';
import { checkLooks, go, HubTest, keptIn, type Opened } from './hub.testing.ts';

const settings = {
  // Webhooks go nowhere but to this machine, where nothing listens.
  SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
  SVC_FETCH_PORTS: '443,9',
};

describe('account, alerts and keys in the hub', { skip: noBrowser }, () => {
  let hub: HubTest;
  let t: Platform;

  before(async () => {
    hub = await HubTest.open(settings);
    ({ t } = hub);
  });
  after(() => hub?.[Symbol.asyncDispose]());
  const open: HubTest['person'] = (...given) => hub.person(...given);

  const show = ({ tab }: Opened, path: string) => go(tab, path);
  const button = ({ tab }: Opened, name: string) => tab.getByRole('button', { name, exact: true });
  const row = ({ tab }: Opened, text: string) => tab.locator('li').filter({ hasText: text }).first();
  /** The act of the menu of a row. */
  const choose = async (opened: Opened, name: string, where: ReturnType<typeof row>) => {
    await where.getByRole('button', { name: opened.words.moreActs }).click();
    await opened.tab.getByRole('menuitem', { name, exact: true }).click();
  };
  const rulesOf = async ({ make }: Opened) =>
    (await make('/v1/notifications/preferences', undefined, 'GET')).rules.map(({ type }: any) => type);

  test('a rule of alerts survives a reload, is moved, and what is removed comes back by Undo', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.ways;
    await show(opened, '/notifications');
    await tab.getByRole('link', { name: words.alerts.settings }).click();
    await tab.getByText(text.noWay, { exact: true }).waitFor();
    await button(opened, text.addRule).click();
    await tab.getByLabel(text.type).fill('No such type');
    await button(opened, words.save).click();
    await tab.locator('.field .problem').waitFor();
    await tab.getByLabel(text.type).fill('heartbeat');
    await tab.getByLabel(text.severity).selectOption('critical');
    await tab.getByLabel(text.channels.mail, { exact: true }).uncheck();
    await tab.getByLabel(text.quiet).check();
    await tab.getByLabel(words.me.tz).fill('Europe/Bucharest');
    await button(opened, words.save).click();
    await tab.getByText(text.saved).first().waitFor();
    await button(opened, text.addRule).click();
    await tab.getByLabel(text.type).fill('*');
    for (const channel of Object.values(text.channels)) await tab.getByLabel(channel, { exact: true }).uncheck();
    await button(opened, words.save).click();
    await row(opened, text.every).waitFor();
    await tab.reload();
    await row(opened, text.quietText('22:00', '07:00', 'Europe/Bucharest')).waitFor();
    await row(opened, text.inboxOnly).waitFor();
    const { rules } = await make('/v1/notifications/preferences', undefined, 'GET');
    assert.deepEqual(rules, [
      {
        type: 'heartbeat',
        channels: ['push', 'webhook'],
        min_severity: 'critical',
        quiet_hours: { from: '22:00', to: '07:00', tz: 'Europe/Bucharest' },
      },
      { type: '*', channels: [] },
    ]);
    await choose(opened, text.up, row(opened, text.every));
    await until(async () => (await rulesOf(opened)).join() === '*,heartbeat');
    await choose(opened, words.remove, row(opened, text.every));
    await until(async () => (await rulesOf(opened)).join() === 'heartbeat');
    const toast = tab.locator('.toast').filter({ hasText: text.removed });
    await toast.getByRole('button', { name: words.undo, exact: true }).click();
    await until(async () => (await rulesOf(opened)).join() === '*,heartbeat');
    check();
  });

  test("a webhook's secret is shown once and kept nowhere; a test says that it did not arrive", async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.hooks;
    await show(opened, '/notifications/settings');
    await button(opened, text.add).click();
    await tab.getByLabel(words.name, { exact: true }).fill('Ops room');
    await tab.getByLabel(text.url).fill('https://127.0.0.1:9/hook/token-in-a-path');
    await tab.getByLabel(text.types).fill('heartbeat, Schedule');
    await button(opened, words.create).click();
    await tab.locator('.field .problem').waitFor();
    await tab.getByLabel(text.types).fill('heartbeat, schedule');
    await button(opened, words.create).click();
    const secret = (await tab.getByRole('dialog').locator('pre').textContent()) ?? '';
    assert.match(secret, /^whsec_/);
    await tab.locator('dialog header').getByRole('button', { name: words.close }).click();
    await row(opened, 'Ops room').waitFor();
    for (const where of [await tab.content(), await keptIn(tab)]) {
      assert.ok(!where.includes(secret));
      assert.doesNotMatch(where, /token-in-a-path/, 'an address may be a secret');
    }
    await choose(opened, text.test, row(opened, 'Ops room'));
    await tab.locator('.toast.bad').waitFor();
    await choose(opened, text.deliveries, row(opened, 'Ops room'));
    await tab.getByText(text.lost).or(tab.getByText(text.noDeliveries)).first().waitFor();
    await tab.locator('dialog header').getByRole('button', { name: words.close }).click();
    await choose(opened, text.edit, row(opened, 'Ops room'));
    await tab.getByLabel(text.types).fill('');
    await button(opened, words.save).click();
    await tab.getByText(text.saved, { exact: true }).waitFor();
    await choose(opened, text.turnOff, row(opened, 'Ops room'));
    await row(opened, text.states.off).waitFor();
    const [hook] = (await make('/v1/notifications/webhooks', undefined, 'GET')).webhooks;
    assert.deepEqual(
      [hook.types, hook.enabled, hook.url],
      [undefined, false, 'https://127.0.0.1:9/hook/token-in-a-path'],
    );
    await choose(opened, words.monitors.delete, row(opened, 'Ops room'));
    await tab.getByLabel(words.name, { exact: true }).fill('Ops room');
    await button(opened, words.monitors.delete).click();
    await tab.getByText(text.none).waitFor();
    check();
  });

  test('the audit log is filtered by what was done and to what, and the filter stands in the address', async () => {
    await using opened = await open('ro');
    const { tab, words, make, check } = opened;
    const text = words.audit;
    const one = await make('/v1/keys', { name: 'One', scopes: ['heartbeats'] });
    await make('/v1/keys', { name: 'Two', scopes: ['heartbeats'] });
    await make('/v1/projects', { name: 'Shop' });
    await show(opened, '/me');
    await tab.getByRole('link', { name: words.usage.link }).click();
    await button(opened, words.usage.views.audit).click();
    await tab.getByText('projects.create').waitFor();
    await tab.getByLabel(text.action).fill('keys');
    await button(opened, text.show).click();
    await tab.getByText('projects.create').waitFor({ state: 'detached' });
    const shown = async (count: number) =>
      until(async () => (await tab.locator('main .row').filter({ hasText: 'keys.create' }).count()) === count);
    await shown(2);
    await tab.getByLabel(text.subject).fill(one.id);
    await button(opened, text.show).click();
    await shown(1);
    await tab.reload();
    await tab.getByText(one.id).first().waitFor();
    await shown(1);
    await tab.getByLabel(text.since).fill('2999-01-01T00:00');
    await button(opened, text.show).click();
    await tab.getByText(text.empty).waitFor();
    await button(opened, text.clear).click();
    await tab.getByText('projects.create').waitFor();
    check();
  });

  test('usage is counted by key, by its name, beside limits and wallet', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.usage;
    const { key, id } = await make('/v1/keys', { name: 'CI of the shop', scopes: ['heartbeats'] });
    for (const path of ['/v1/heartbeats', '/v1/heartbeats', '/v1/keys']) await http(t.gateway.url, path, { key });
    await until(async () => {
      const { usage } = await make('/v1/usage/requests?by=key', undefined, 'GET');
      return usage.some(({ group, requests }: any) => group === id && requests === 3);
    });
    await show(opened, '/me/usage');
    await tab.getByLabel(text.by, { exact: true }).selectOption('key');
    const cells = tab.getByRole('row').filter({ hasText: 'CI of the shop' }).getByRole('cell');
    await cells.first().waitFor();
    assert.match((await cells.first().textContent()) ?? '', /^3/);
    assert.equal(await cells.last().textContent(), '1');
    await button(opened, text.views.limits).click();
    await tab.getByRole('rowheader', { name: 'heartbeats', exact: true }).waitFor();
    await button(opened, text.views.wallet).click();
    await tab.getByText(text.noEntries).waitFor();
    check();
  });

  test('rights of a key stand under what they are about, are found by a word, and none of them grants nothing', async () => {
    await using opened = await open('ro');
    const { tab, words, make, check } = opened;
    const text = words.keys;
    await show(opened, '/keys');
    await button(opened, text.new).click();
    await tab.getByLabel(text.preset, { exact: true }).selectOption('own');
    await tab.getByRole('group', { name: text.areas.models, exact: true }).waitFor();
    const labels = await tab.locator('.scope-choice label').allTextContents();
    assert.deepEqual(
      labels.filter((label, at) => label.startsWith('Nimic') || labels.indexOf(label) !== at),
      [],
    );
    await checkLooks(tab, 'keys-own.ro');
    await tab.getByLabel(text.find, { exact: true }).fill('heartbeats:read');
    const only = tab.locator('.scope-choice').getByRole('checkbox');
    await until(async () => (await only.count()) === 1);
    await only.check();
    await tab.getByLabel(text.find, { exact: true }).fill('');
    await button(opened, words.create).click();
    await tab.getByText(text.once).waitFor();
    const { keys } = await make('/v1/keys', undefined, 'GET');
    assert.deepEqual(keys.find(({ name }: any) => name === text.unnamed).scopes, ['heartbeats:read']);
    check();
  });

  test('a key names the keys that it made before it is revoked, and they end with it unless the person says no', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.oneKey;
    const made = async (name: string, by?: string) => {
      const body = { name, scopes: ['keys', 'heartbeats'] };
      if (by === undefined) return await make('/v1/keys', body);
      return (await http(t.gateway.url, '/v1/keys', { key: by, method: 'POST', body })).body;
    };
    const works = async ({ key }: { key: string }) =>
      (await http(t.gateway.url, '/v1/heartbeats', { key })).status === 200;
    const [first, second] = [await made('First'), await made('Second')];
    const [kept, gone] = [await made('Kept', first.key), await made('Gone', second.key)];
    await show(opened, '/keys');
    await row(opened, 'Kept').getByText(text.madeByRow('First')).waitFor();
    // The key of the test may do everything.
    await tab.getByText(words.keys.mayAll, { exact: true }).first().waitFor();
    await tab.getByRole('link', { name: /^First/ }).click();
    await tab.getByRole('heading', { name: text.children }).waitFor();
    await tab.getByText(text.neverEnds, { exact: true }).waitFor();
    const head = tab.locator('.page-head');
    await choose(opened, text.edit, head);
    await tab.getByLabel(words.name, { exact: true }).fill('First of all');
    await tab.getByLabel(text.cap).fill('2.5');
    await button(opened, words.save).click();
    await tab.getByRole('heading', { name: 'First of all', exact: true }).waitFor();
    const { name, spend_cap_micro_usd: cap } = await make(`/v1/keys/${first.id}`, undefined, 'GET');
    assert.deepEqual([name, cap], ['First of all', 2_500_000]);
    await choose(opened, words.keys.revoke, head);
    await tab.getByText(text.childrenText(1)).waitFor();
    await tab.getByLabel(text.withChildren).uncheck();
    await tab.getByLabel(words.name, { exact: true }).fill('First of all');
    await button(opened, words.keys.revoke).click();
    await tab.getByText(text.left(1)).waitFor();
    assert.deepEqual([await works(first), await works(kept)], [false, true]);
    await show(opened, `/keys/${second.id}`);
    await choose(opened, words.keys.revoke, head);
    await tab.getByLabel(words.name, { exact: true }).fill('Second');
    await button(opened, words.keys.revoke).click();
    await tab.getByText(text.revoked(1)).waitFor();
    assert.deepEqual([await works(second), await works(gone)], [false, false]);
    check();
  });

  for (const [locale, size, colorScheme] of [
    ['ro', 'phone', 'dark'],
    ['en', 'screen', 'light'],
  ] as const)
    test(`every page of account, alerts and keys is whole and scrolls sideways at no size (${locale}, ${colorScheme})`, async () => {
      await using opened = await open(locale, size, { colorScheme });
      const { tab, make, check } = opened;
      const hostile = `<img src=x onerror=alert(1)> \u202egnp.exe${'w'.repeat(60)}`;
      const { id } = await make('/v1/keys', { name: hostile, scopes: ['heartbeats'] });
      const url = 'https://127.0.0.1:9/hook';
      await make('/v1/notifications/webhooks', { name: hostile, url, types: ['heartbeat', 'a'.repeat(150)] });
      const quiet = { from: '22:00', to: '07:00', tz: 'America/Argentina/ComodRivadavia' };
      const rules = [{ type: 'b'.repeat(180), channels: ['push', 'mail', 'webhook'], quiet_hours: quiet }];
      await make('/v1/notifications/preferences', { rules }, 'PUT');
      const views = ['', '?by=key', '?show=limits', '?show=wallet', '?show=audit'].map((view) => `/me/usage${view}`);
      for (const page of ['/notifications/settings', ...views, '/keys', `/keys/${id}`, '/me']) {
        await show(opened, page);
        const name = page.replace(/[0-9a-f-]{36}/, 'one').replace('?', '.');
        await checkLooks(tab, `${name}.${locale}`, locale === 'en' ? 'all' : 'colors');
      }
      check();
    });
});
