import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import { noBrowser } from '../../testing.browser.ts';
import { until } from '../../testing.ts';
import { setSuspended } from '../accounts/accounts.sql.ts';
import { go, HubTest, keptIn, whole, withWorker } from './hub.testing.ts';

describe('what goes wrong in the hub, or comes from strangers', { skip: noBrowser }, () => {
  let hub: HubTest;
  let origin = '';

  before(async () => {
    hub = await HubTest.open();
    origin = hub.origin;
  });
  after(() => hub?.[Symbol.asyncDispose]());

  test('why a write in a dialog failed is told in the dialog, and can be closed there', async () => {
    await using opened = await hub.person();
    const { tab, context, words, check } = opened;
    await context.route(/\/v1\/keys$/, async (route) => {
      if (route.request().method() !== 'POST') return route.fallback();
      await route.fulfill({ status: 400, json: { error: { code: 'quota_reached', message: 'x', type: 'x' } } });
    });
    await go(tab, '/keys');
    await tab.getByRole('button', { name: words.keys.new, exact: true }).click();
    const dialog = tab.getByRole('dialog');
    await dialog.getByRole('button', { name: words.create, exact: true }).click();
    const told = dialog.locator('.toast');
    await told.waitFor();
    await told.getByRole('button', { name: words.close, exact: true }).click();
    await told.waitFor({ state: 'detached' });
    assert.ok(await dialog.isVisible());
    check();
  });

  test('a dialog stays when a selection that began in it ends beside it, and closes by a press beside it', async () => {
    await using opened = await hub.person('en', 'screen');
    const { tab, words } = opened;
    await go(tab, '/keys');
    await tab.getByRole('button', { name: words.keys.new, exact: true }).click();
    const dialog = tab.getByRole('dialog');
    const box = await dialog.locator('input').first().boundingBox();
    assert.ok(box);
    await tab.mouse.move(box.x + 20, box.y + box.height / 2);
    await tab.mouse.down();
    await tab.mouse.move(5, 5, { steps: 3 });
    await tab.mouse.up();
    assert.ok(await dialog.isVisible());
    await tab.mouse.click(5, 5);
    await dialog.waitFor({ state: 'detached' });
  });

  test('without the channel between tabs each one reads the stream for itself', async () => {
    await using opened = await hub.person();
    const { context, make, check } = opened;
    await context.addInitScript('delete globalThis.BroadcastChannel');
    const tab = await context.newPage();
    await tab.goto(`${origin}/hub/heartbeats`);
    await whole(tab);
    await make('/v1/heartbeats', { name: 'Comes by itself', period_s: 3600 });
    await tab.getByText('Comes by itself', { exact: true }).waitFor();
    check();
  });

  test('marks, blanks and tags that nobody sees are shown, in the title of the window too', async () => {
    await using opened = await hub.person();
    const { tab, make, check } = opened;
    const { id } = await make('/v1/heartbeats', { name: 'a\u202eb\u3164c\u{e0041}d', period_s: 3600 });
    await go(tab, `/heartbeats/${id}`);
    await tab.getByRole('heading', { name: 'a[U+202E]b[U+3164]c[U+E0041]d', exact: true }).waitFor();
    assert.match(await tab.title(), /^a\[U\+202E\]b\[U\+3164\]c\[U\+E0041\]d/);
    check();
  });

  test('an address with an id that is none says that nothing is there, in each place', async () => {
    await using opened = await hub.person();
    const { tab, words, check } = opened;
    for (const path of [
      'heartbeats',
      'schedules',
      'schedule-runs',
      'machines',
      'keys',
      'sandboxes',
      'prompts',
      'sessions',
    ]) {
      await go(tab, `/${path}/nonsense`);
      await tab.getByText(words.states.notFound, { exact: true }).waitFor();
    }
    await tab.goto(`${origin}/hub/frame/cells?sandbox=..`);
    await tab.getByText(words.states.notFound, { exact: true }).waitFor();
    check();
  });

  test('who is suspended sees that, and nothing that the browser kept', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { tab, words, make, account } = opened;
    await make('/v1/heartbeats', { name: 'Canary monitor', period_s: 3600 });
    await go(tab, '/heartbeats');
    await tab.getByText('Canary monitor', { exact: true }).waitFor();
    await setSuspended(hub.t.gateway.kernel.sql, account.id, true);
    const { gateways } = hub.t.gateway.kernel;
    await gateways.announce(credentialsChanged, { accountId: account.id } satisfies CredentialChange);
    const isRefused = async () => (await tab.evaluate(`fetch('/hub/login').then(({ status }) => status)`)) === 403;
    await until(isRefused);
    await tab.reload();
    await tab.getByRole('heading', { name: words.states.suspended, exact: true }).waitFor();
    await tab.getByText('Canary monitor').waitFor({ state: 'detached' });
    assert.equal(await tab.getByRole('navigation').count(), 0);
    await until(async () => !/Canary/.test(await keptIn(tab)));
  });

  test('a file that a form of another site sends to the share address is not offered', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { tab, context } = opened;
    await tab.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
    const other = await context.newPage();
    // The same machine by another name: another site to the browser.
    const foreign = origin.replace('localhost', '127.0.0.1');
    await other.route(`${foreign}/page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<title>x</title>' }),
    );
    await other.goto(`${foreign}/page`);
    await other.evaluate(`(() => {
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', enctype: 'multipart/form-data', action: '${origin}/hub/share' });
      const input = Object.assign(document.createElement('input'), { type: 'file', name: 'file' });
      const files = new DataTransfer();
      files.items.add(new File(['x'], 'planted.mp3', { type: 'audio/mpeg' }));
      input.files = files.files;
      form.append(input);
      document.body.append(form);
      form.submit();
    })()`);
    await other.waitForURL(/\/hub\/transcripts\?shared=none/);
    await whole(other);
    assert.equal(await other.getByText('planted.mp3').count(), 0);
  });
});
