import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Route } from 'playwright-core';
import { en } from '../../../../hub/src/words/en.ts';
import { ro } from '../../../../hub/src/words/ro.ts';
import { noBrowser } from '../../testing.browser.ts';
import { http, until } from '../../testing.ts';
import { setOperator } from '../accounts/index.ts';
import { password, person } from '../auth/auth.testing.ts';
import { environmentOf, projectOf } from '../environments/environments.testing.ts';
import { openDevice } from '../sessions/sessions.testing.ts';
import {
  brokenMonitor,
  checkLooks,
  go,
  HubTest,
  keptIn,
  type Opened,
  waitingRun,
  whole,
  withWorker,
} from './hub.testing.ts';

/** Where every page of the hub is listed. */
const routes = join(import.meta.dirname, '../../../../hub/src/routes.ts');

/** In the page: makes what the browser keeps older by so much. */
function ageKept(byMs: number): Promise<void> {
  const page = globalThis as any;
  return new Promise((resolve) => {
    const opening = page.indexedDB.open('svc-hub');
    opening.addEventListener('success', () => {
      const writing = opening.result.transaction('records', 'readwrite');
      const records = writing.objectStore('records');
      const reading = records.getAll();
      reading.addEventListener('success', () => {
        for (const row of reading.result) records.put({ ...row, at: row.at - byMs });
      });
      writing.addEventListener('complete', () => {
        opening.result.close();
        resolve();
      });
    });
  });
}

/** In the page: keeps a press as the service worker does without a network. */
function keepPress(): Promise<void> {
  const page = globalThis as any;
  return new Promise((resolve) => {
    const opening = page.indexedDB.open('svc-hub-acts', 1);
    opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('acts', { keyPath: 'key' }));
    opening.addEventListener('success', () => {
      const writing = opening.result.transaction('acts', 'readwrite');
      const press = { key: 'press-of-the-first', title: 'T', tag: 't', method: 'POST', path: '/v1/schedules/pause' };
      writing.objectStore('acts').put({ ...press, body: {}, at: Date.now() });
      writing.addEventListener('complete', () => {
        opening.result.close();
        resolve();
      });
    });
  });
}

describe('the hub in a browser', { skip: noBrowser }, () => {
  let hub: HubTest;
  let origin = '';

  before(async () => {
    hub = await HubTest.open();
    origin = hub.origin;
  });
  after(() => hub?.[Symbol.asyncDispose]());
  const open: HubTest['person'] = (...given) => hub.person(...given);

  for (const [locale, size] of [
    ['en', 'phone'],
    ['ro', 'screen'],
  ] as const)
    test(`what is broken is seen without a tap, and mended with one (${locale}, ${size})`, async () => {
      await using opened = await open(locale, size);
      const { tab, words, make, check } = opened;
      const { id } = await brokenMonitor(hub, opened, 'Nightly backup');
      const run = await waitingRun(opened);
      // Nothing is reloaded: it comes by the stream.
      await tab.getByRole('heading', { name: 'Nightly backup' }).waitFor();
      await tab.getByRole('heading', { name: 'Deploy' }).waitFor();
      await tab.getByRole('button', { name: words.actions.approve, exact: true }).click();
      await tab.getByText(words.actions.done.approve, { exact: true }).waitFor();
      assert.equal((await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state, 'pending');
      // It waits for a machine now, of which there is none: that needs a person, too.
      const waiting = tab.locator('.card').filter({ hasText: words.runs.waits.no_host });
      await waiting.getByRole('link', { name: words.machines.invite, exact: true }).waitFor();
      await waiting.getByRole('button', { name: words.actions.cancel, exact: true }).click();
      await waiting.waitFor({ state: 'detached' });
      const silence = tab.locator('.card').getByRole('button', { name: words.monitors.pauseFor.hour, exact: true });
      const monitor = () => make(`/v1/heartbeats/${id}`, undefined, 'GET');
      await silence.click();
      await tab.getByText(words.now.allWell).waitFor();
      // It stays down, in a second place, and says until when nobody is told.
      await tab.getByText(words.now.ofMonitors(0, 1, 0), { exact: true }).waitFor();
      await tab.getByRole('heading', { name: words.now.silent }).waitFor();
      await tab.locator('.card').filter({ hasText: words.monitors.silentUntil }).waitFor();
      const { status, muted_until: end } = await monitor();
      assert.deepEqual([status, typeof end], ['down', 'string']);
      await tab.getByRole('button', { name: words.undo, exact: true }).click();
      await until(async () => (await monitor()).muted_until === undefined);
      await silence.waitFor();
      check();
    });

  test('a monitor is made with a name and two taps, and its first ping is seen as it comes', async () => {
    await using opened = await open();
    const { tab, words, check } = opened;
    await tab.getByRole('link', { name: words.monitors.new, exact: true }).click();
    await tab.getByLabel(words.name, { exact: true }).fill('Photos');
    await tab.getByRole('button', { name: words.monitors.createAndCopy }).click();
    await tab.getByText(words.monitors.waiting).waitFor();
    const address = (await tab.locator('.copy-text pre').first().textContent()) ?? '';
    await http(hub.t.gateway.url, new URL(address).pathname, { method: 'POST' });
    await tab.getByText(words.monitors.firstPing).waitFor();
    check();
  });

  test("a monitor's cron is chosen in place of its period, and its hours are of the person's own zone", async () => {
    await using opened = await open('ro', 'phone', { timezoneId: 'America/New_York' });
    const { tab, words, make, check } = opened;
    await go(tab, '/heartbeats/new');
    await tab.getByLabel(words.name, { exact: true }).fill('By cron');
    assert.equal(await tab.getByLabel(words.monitors.cron).count(), 0);
    await tab.getByLabel(words.monitors.period).selectOption('cron');
    const cron = tab.getByLabel(words.monitors.cron);
    const create = tab.getByRole('button', { name: words.monitors.createAndCopy });
    await cron.fill('0 3 * *');
    await create.click();
    // The field says it once, and has the focus.
    await tab.locator('.field > .problem').waitFor();
    await until(async () => cron.evaluate((field) => field === (globalThis as any).document.activeElement));
    assert.equal(await tab.locator('.toast').count(), 0);
    await cron.fill('0 3 * * *');
    await tab.getByText(words.monitors.cronHint('America/New_York')).waitFor();
    await create.click();
    await tab.getByText(words.monitors.waiting).waitFor();
    const [made] = (await make('/v1/heartbeats', undefined, 'GET')).heartbeats;
    assert.deepEqual([made.cron, made.tz], ['0 3 * * *', 'America/New_York']);
    await go(tab, `/heartbeats/${made.id}`);
    await tab.getByText('0 3 * * * America/New_York').waitFor();
    check();
  });

  test('what a form holds is there after a reload; a login that ended leaves nothing to be seen or kept but it', async () => {
    await using opened = await open();
    const { tab, words, account, context, make } = opened;
    await make('/v1/heartbeats', { name: 'Their secret', period_s: 3600 });
    const other = await context.newPage();
    await other.goto(`${origin}/hub/heartbeats`);
    await other.getByText('Their secret').waitFor();
    await until(async () => (await keptIn(other)).includes('Their secret'));
    await go(tab, '/heartbeats/new');
    await tab.getByLabel(words.name, { exact: true }).fill('Half written');
    await tab.reload();
    assert.equal(await tab.getByLabel(words.name, { exact: true }).inputValue(), 'Half written');
    const login = await tab.evaluate(
      async () => ((await (await fetch('/hub/login')).json()) as any).login_id as string,
    );
    await tab.evaluate(async (id) => fetch(`/v1/me/logins/${id}`, { method: 'DELETE' }), login);
    // The stream of the tabs ends with the login: nobody has to press anything, and nothing closes what is said.
    for (const each of [tab, other]) {
      await each.getByRole('heading', { name: words.states.signedOut }).waitFor();
      assert.equal(await each.getByRole('button').count(), 1);
      assert.equal(await each.getByText(/Half written|Their secret/).count(), 0);
    }
    await until(async () => !(await keptIn(other)).includes('Their secret'));
    await other.close();
    await tab.getByRole('button', { name: words.signIn, exact: true }).click();
    await tab.waitForURL(/\/sign-in\//);
    await tab.locator('input[type=email]').fill(account.email);
    await tab.locator('input[type=password]').fill(password);
    await tab.locator('button.primary').first().click();
    await tab.waitForURL(`${origin}/hub/heartbeats/new`);
    assert.equal(await tab.getByLabel(words.name, { exact: true }).inputValue(), 'Half written');
  });

  test('four tabs share one stream; when its tab closes another one takes it, and all see what happens', async () => {
    await using opened = await open();
    const { context, account } = opened;
    const tabs = [opened.tab];
    for (let at = 0; at < 3; at += 1) {
      const tab = await context.newPage();
      await tab.goto(`${origin}/hub/`);
      await tab.getByRole('heading', { name: en.now.title, exact: true }).waitFor();
      tabs.push(tab);
    }
    const streams = () =>
      hub.t.gateway.kernel.streams.credentials().filter(({ accountId }) => accountId === account.id).length;
    await until(() => Promise.resolve(streams() === 1));
    await tabs.shift()?.close();
    await brokenMonitor(hub, opened, 'Shared');
    for (const tab of tabs) await tab.getByRole('heading', { name: 'Shared' }).waitFor();
    assert.equal(streams(), 1);
  });

  test('without a network a page that was open shows what it knew, and a press is sent once when it is back', async () => {
    await using opened = await open('en', 'phone', withWorker);
    const { tab, context, words, make } = opened;
    const run = await waitingRun(opened, 'Offline');
    await tab.getByRole('heading', { name: 'Offline' }).waitFor();
    await tab.evaluate(async () => (navigator as any).serviceWorker.ready.then(() => undefined));
    await until(async () => (await tab.evaluate(async () => (await (globalThis as any).caches.keys()).length)) > 0);
    await context.setOffline(true);
    await tab.evaluate(ageKept, 2 * 86_400_000);
    await tab.reload();
    await tab.getByRole('heading', { name: 'Offline' }).waitFor();
    // Its age is that of what is shown, whenever the page was opened.
    await tab.getByText(/Offline, as of [A-Z][a-z]+ \d+, /).waitFor();
    await tab.getByRole('button', { name: words.actions.approve, exact: true }).click();
    await tab.getByText(words.outbox.stored).waitFor();
    assert.equal((await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state, 'awaiting_approval');
    await context.setOffline(false);
    await tab.getByText(words.outbox.sent).waitFor();
    assert.equal((await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).state, 'pending');
  });

  test('a schedule is made that tells of changes, and of what is none; a pattern that is refused is told at its field', async () => {
    await using opened = await open('en', 'screen');
    const { tab, words, check } = opened;
    const text = words.schedules;
    await go(tab, '/schedules/new');
    await tab.getByLabel(words.name, { exact: true }).fill('Visitors');
    await tab.getByLabel(text.work.shell, { exact: true }).fill('curl -s https://example.com/stats');
    await tab.getByLabel(text.when, { exact: true }).fill('every day at 3:00');
    await tab.getByLabel(text.tell).selectOption({ label: text.tells.on_change });
    const patterns = tab.getByLabel(text.ignored);
    await patterns.fill('visitors: \\d+\nat #:#');
    const create = tab.getByRole('button', { name: words.create, exact: true });
    await create.click();
    await tab.locator('.field', { has: patterns }).locator('.problem').waitFor();
    await patterns.fill('visitors: #\n\nat #:#');
    await create.click();
    await tab.getByText(`${text.tell}: ${text.tells.on_change}`).waitFor();
    assert.deepEqual(await tab.locator('code').allInnerTexts(), ['visitors: #', 'at #:#']);
    await check();
  });

  test('a press whose answer is lost is done once, and so are a prompt and a message that are written without a network', async () => {
    await using opened = await open('en', 'phone', withWorker);
    const { tab, context, words, make, check } = opened;
    const run = await waitingRun(opened, 'Lost');
    await make(`/v1/schedule-runs/${run}/cancel`);
    const { id: session } = await make('/v1/sessions', { title: 'Talk' });
    const laptop = await openDevice(hub.t.gateway, opened.account);
    await laptop.ask('POST', `/v1/sessions/${session}/lease`);
    await go(tab, `/schedule-runs/${run}`);
    const loseAnswer = async (route: Route): Promise<void> => {
      await route.fetch();
      await route.abort('connectionreset');
    };
    await tab.route(/\/rerun$/, loseAnswer, { times: 1 });
    await tab.getByRole('button', { name: words.actions.rerun, exact: true }).click();
    const runs = async () => (await make('/v1/schedule-runs', undefined, 'GET')).runs.length;
    await tab
      .getByText(/^(It runs again|Sent, now that the network is back)$/)
      .first()
      .waitFor();
    assert.equal(await runs(), 2);
    await go(tab, `/sessions/${session}`);
    const message = tab.locator('main textarea');
    await message.waitFor();
    await context.setOffline(true);
    await message.fill('Hello from the tunnel');
    await tab.getByRole('button', { name: words.sessions.send, exact: true }).click();
    // Not the words in the corner: those of the press before may stand there still.
    await until(async () => (await message.inputValue()) === '');
    const { sql } = hub.t.gateway.kernel;
    const controls = () => sql`select id from sessions.controls where session_id = ${session}`;
    assert.equal((await controls()).length, 0);
    await context.setOffline(false);
    await until(async () => (await controls()).length > 0);
    await go(tab, '/prompts');
    await context.setOffline(true);
    await tab.getByRole('button', { name: words.prompts.new, exact: true }).first().click();
    const dialog = tab.getByRole('dialog');
    await dialog.getByRole('textbox').first().fill('Look at the backup');
    await dialog.locator('button[type=submit]').click();
    await dialog.waitFor({ state: 'hidden' });
    const prompts = async () => (await make('/v1/prompts', undefined, 'GET')).prompts;
    assert.deepEqual(await prompts(), []);
    await context.setOffline(false);
    await until(async () => (await prompts()).length > 0);
    // What was sent is taken out: nothing is sent once more.
    await until(async () => !/storedAt\\+":/.test(await keptIn(tab)));
    assert.deepEqual([(await controls()).length, (await prompts()).length, await runs()], [1, 1, 2]);
    check();
  });

  test('a prompt is put off by its form, and its text begins a new one', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const text = words.prompts;
    const { id } = await make('/v1/prompts', { prompt: 'Look at the logs', source: 'test' });
    await go(tab, `/prompts/${id}`);
    const menu = async (item: string) => {
      await tab.getByRole('button', { name: words.moreActs, exact: true }).click();
      await tab.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await menu(text.edit);
    await tab.getByLabel(text.notBefore).fill('2999-01-02T03:04');
    await tab.getByRole('button', { name: words.save, exact: true }).click();
    await tab.getByText(text.edited, { exact: true }).waitFor();
    const { prompt } = await make(`/v1/prompts/${id}`, undefined, 'GET');
    assert.match(prompt.not_before, /^2999-01-0/);
    await menu(text.anew);
    const field = tab.getByRole('dialog').getByRole('textbox').first();
    assert.equal(await field.inputValue(), 'Look at the logs');
    await field.fill('Look at the logs of today');
    await tab.getByRole('dialog').getByRole('button', { name: words.create, exact: true }).click();
    await tab.getByText(text.kept, { exact: true }).waitFor();
    const { prompts } = await make('/v1/prompts', undefined, 'GET');
    assert.equal(prompts.length, 2);
    check();
  });

  test('an open page of a run or a monitor follows it to its end, all of it', async () => {
    await using opened = await open();
    const { tab, words, make, check } = opened;
    const run = await waitingRun(opened);
    await go(tab, `/schedule-runs/${run}`);
    await tab.getByText(words.runs.states.awaiting_approval).waitFor();
    await make(`/v1/schedule-runs/${run}/decision`, { decision: 'approve' });
    await tab.getByText(words.runs.waits.no_host).waitFor();
    // A machine comes: the run waits for its approval, and says what to type there.
    const headers = { 'x-svc-device': crypto.randomUUID(), 'x-svc-device-name': 'box' };
    const { schedule_id: schedule } = await make(`/v1/schedule-runs/${run}`, undefined, 'GET');
    const claim = { wait_s: 0, kinds: ['shell'] };
    await http(hub.t.gateway.url, '/v1/scheduler/claim', { key: opened.account.key, headers, body: claim });
    await tab.reload();
    await tab.getByText(`svc host approve ${schedule}`, { exact: true }).waitFor();
    await tab.getByRole('link', { name: 'box', exact: true }).waitFor();
    await checkLooks(tab, 'run.not_approved');
    await go(tab, '/');
    await tab.locator('.card').getByRole('link', { name: words.runs.approveThere, exact: true }).click();
    await tab.getByText(`svc host approve ${schedule}`, { exact: true }).waitFor();
    await go(tab, `/schedule-runs/${run}`);
    await make(`/v1/schedule-runs/${run}/cancel`);
    await tab.getByRole('button', { name: words.actions.rerun, exact: true }).waitFor();
    assert.equal(await tab.getByText(words.runs.waits.no_host).count(), 0);
    const { id, pathname } = await brokenMonitor(hub, opened, 'Followed');
    await go(tab, `/heartbeats/${id}`);
    await tab.getByText(words.monitors.kinds.fail, { exact: true }).waitFor();
    await http(hub.t.gateway.url, `${pathname}/0`, { method: 'POST', raw: 'all 7 files' });
    await tab.getByText('all 7 files').first().waitFor();
    await tab.locator('.facts').getByText(words.monitors.statuses.up, { exact: true }).waitFor();
    check();
  });

  /** A run that failed with a log, as its schedule's machine would have left it. */
  const failedRun = async (opened: Opened, name: string) => {
    const run = await waitingRun(opened, name);
    await hub.t.gateway.kernel.sql`
      update scheduler.runs set state = 'failed', started_at = now(), finished_at = now(), attempt = 1, exit_code = 3,
        error = 'exit code 3' where id = ${run}`;
    await hub.tell(opened, 'scheduler', run);
    return run;
  };

  test('a menu stands within the window, also where its button is at the left of a phone', async () => {
    await using opened = await open();
    const { tab, words, make } = opened;
    const { id } = await make('/v1/heartbeats', { name: 'A name that leaves no room beside it', period_s: 3600 });
    await go(tab, `/heartbeats/${id}`);
    await tab.getByRole('button', { name: words.moreActs }).click();
    const box = await tab.getByRole('menu').boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  });

  test('on a phone nothing covers a page: the link past a log is unseen until it has the focus', async () => {
    await using opened = await open();
    const { tab, words, check } = opened;
    const frames = [
      ['log', { from: 0, text: `one line ${'that goes on and on '.repeat(10)}\n` }],
      ['end', { state: 'failed', bytes: 209 }],
    ].map(([event, data]) => `event: ${event as string}\ndata: ${JSON.stringify(data)}\n\n`);
    await tab.route(/\/log\?/, (route) => route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }));
    await go(tab, `/schedule-runs/${await failedRun(opened, 'Covered')}`);
    const skip = tab.getByRole('link', { name: words.runs.skipLog });
    const width = async () => (await skip.boundingBox())?.width ?? 0;
    assert.ok((await width()) <= 1);
    await skip.focus();
    assert.ok((await width()) > 44);
    // A short log wraps, and its box is as high as its lines are.
    const box = tab.locator('.log-box');
    await tab.getByText('one line').waitFor();
    const over = () => box.evaluate((element: any) => element.scrollWidth - element.clientWidth);
    assert.equal(await over(), 0);
    assert.ok(((await box.boundingBox())?.height ?? 0) < 200);
    await checkLooks(tab, 'run.failed');
    check();
  });

  /** Every page, with something on it. */
  const paths = [
    '/',
    '/notifications',
    '/heartbeats',
    '/heartbeats/new',
    '/schedules',
    '/schedules/new',
    '/schedule-runs',
    '/machines',
    '/sandboxes',
    '/prompts',
    '/sessions',
    '/keys',
    '/connections',
    '/me',
    '/nowhere',
  ];

  for (const [locale, size, colorScheme] of [
    ['en', 'phone', 'light'],
    ['ro', 'screen', 'dark'],
  ] as const)
    test(`every page is whole, reads aloud and scrolls sideways at no size (${locale}, ${colorScheme})`, async () => {
      await using opened = await open(locale, size, { colorScheme });
      const { tab, check } = opened;
      const { id } = await brokenMonitor(hub, opened, '<img src=x onerror=alert(1)> \u202egnp.exe');
      await brokenMonitor(hub, opened, 'Monitor cu un nume destul de lung cât să nu încapă pe un rând');
      const run = await waitingRun(opened);
      for (const path of [...paths, `/heartbeats/${id}`, `/schedule-runs/${run}`]) {
        await go(tab, path);
        await checkLooks(tab, `${path}.${locale}`, locale === 'en' ? 'all' : 'colors');
      }
      // A mark that turns the direction of what follows is seen, wherever it stands.
      await go(tab, '/heartbeats');
      await tab.getByText('[U+202E]gnp.exe').first().waitFor();
      assert.equal(await tab.getByText('\u202e').count(), 0);
      check();
    });

  test('every page opens by its own address', async () => {
    await using opened = await open('en', 'screen');
    const { tab, make, account, check } = opened;
    const { gateway } = hub.t;
    await setOperator(gateway.kernel.sql, account.id, true);
    const { id: monitor } = await brokenMonitor(hub, opened, 'Deep');
    const run = await waitingRun(opened);
    const device = crypto.randomUUID();
    const headers = { 'x-svc-device': device, 'x-svc-device-name': 'box' };
    await http(gateway.url, '/v1/scheduler/claim', {
      key: account.key,
      headers,
      body: { wait_s: 0, kinds: ['shell'] },
    });
    const project = await projectOf(gateway, account);
    const ids: Record<string, string> = {
      heartbeats: monitor,
      schedules: (await make(`/v1/schedule-runs/${run}`, undefined, 'GET')).schedule_id,
      'schedule-runs': run,
      machines: device,
      keys: (await make('/v1/keys', { name: 'One', scopes: ['heartbeats'] })).id,
      prompts: (await make('/v1/prompts', { prompt: 'Look', source: 'test' })).id,
      sessions: (await make('/v1/sessions', { title: 'Talk' })).id,
      environments: await environmentOf(gateway, account, project),
      projects: project,
      transcripts: (await make('/v1/transcripts', { title: 'Now' })).transcript.id,
    };
    const loadable = [...readFileSync(routes, 'utf8').matchAll(/path: '([^']+)',\s+load:/g)].map(
      ([, path = '']) => path,
    );
    assert.ok(loadable.length > 30, loadable.join(' '));
    for (const path of ['/', ...loadable]) {
      const id = ids[path.split('/')[1] ?? ''];
      const answer = await tab.goto(`${origin}/hub${path.replace(':id', id ?? device)}`, { waitUntil: 'commit' });
      assert.equal(answer?.status(), 200, path);
      // There is no alert and no sandbox here: their pages say so.
      if (path.includes(':id') && id === undefined)
        await tab.locator('body:not(:has(.loading)) main :is(h1, [role=alert])').first().waitFor();
      else {
        await whole(tab);
        assert.equal(await tab.locator('main [role=alert]').count(), 0, path);
      }
    }
    check();
  });

  test('who signs out leaves nothing of theirs in the browser but language and theme, which the sign-in page has too', async () => {
    await using opened = await open('en', 'phone', withWorker);
    const { tab, context, words } = opened;
    await brokenMonitor(hub, opened, 'Canary monitor');
    await tab.getByRole('heading', { name: 'Canary monitor' }).waitFor();
    const other = await context.newPage();
    await other.goto(`${origin}/hub/heartbeats`);
    await go(tab, '/me');
    await tab.getByLabel(words.me.theme, { exact: true }).selectOption('dark');
    await tab.getByLabel(words.language, { exact: true }).selectOption('ro');
    await tab.getByRole('button', { name: words.save, exact: true }).click();
    await tab.getByText(ro.me.saved, { exact: true }).waitFor();
    await tab.getByRole('button', { name: ro.signOut, exact: true }).first().click();
    await tab.waitForURL(/\/auth\/sign-in\//);
    await tab.locator('html[lang=ro][data-theme=dark]').waitFor();
    await other.waitForURL(/\/auth\/sign-in\//);
    const reader = await context.newPage();
    await reader.goto(`${origin}/hub/manifest.webmanifest`);
    const kept = await keptIn(reader);
    assert.doesNotMatch(kept, /Canary/);
  });

  test('what one person left in a browser is neither seen nor sent by the next one, nor is a tab of theirs that stayed', async () => {
    await using opened = await open('en', 'screen', withWorker);
    const { tab, context, words, make } = opened;
    await make('/v1/heartbeats', { name: 'Of the first', period_s: 3600 });
    const other = await context.newPage();
    await other.goto(`${origin}/hub/heartbeats`);
    await other.getByText('Of the first', { exact: true }).waitFor();
    await tab.goto(`${origin}/hub/heartbeats/new`);
    await tab.getByLabel(words.name, { exact: true }).fill('Draft of the first');
    // A press of a notification that could not be sent, as the worker keeps it, beside a login that ends elsewhere.
    await tab.evaluate(keepPress);
    const next = await person(hub.t, `${origin}/auth`);
    await context.clearCookies({ name: /^(?!__Host-svc_account)/ });
    await tab.goto(`${origin}/hub/keys`);
    await tab.getByRole('button', { name: words.signIn, exact: true }).click();
    await tab.waitForURL(/\/sign-in\//);
    await tab.locator('input[type=email]').fill(next.email);
    await tab.locator('input[type=password]').fill(password);
    await tab.locator('button.primary').first().click();
    await tab.waitForURL(`${origin}/hub/keys`);
    await whole(tab);
    assert.doesNotMatch(await keptIn(tab), /Of the first|Draft of the first|press-of-the-first/);
    await tab.goto(`${origin}/hub/heartbeats/new`);
    assert.equal(await tab.getByLabel(words.name, { exact: true }).inputValue(), '');
    // The other tab finds out with its next request.
    await other.evaluate('dispatchEvent(new Event("online"))');
    await other.getByRole('link', { name: words.nav.schedules, exact: true }).locator('visible=true').first().click();
    await other.getByText('Of the first').waitFor({ state: 'detached' });
    await other.goto(`${origin}/hub/heartbeats`);
    await other.getByText(words.monitors.empty).waitFor();
    const { paused } = await make('/v1/overview', undefined, 'GET');
    const ofNext = (await http(hub.t.gateway.url, '/v1/overview', { key: next.key })).body;
    assert.deepEqual([paused ?? false, ofNext.paused ?? false], [false, false]);
  });

  test('what is shown once is kept nowhere in the browser, and in no address', async () => {
    await using opened = await open('en', 'screen', withWorker);
    const { tab, words, context } = opened;
    const secrets: string[] = [];
    const shownOnce = async (): Promise<void> => {
      for (const text of await tab.locator('.copy-text pre').allTextContents())
        secrets.push(...(/[\w-]{20,}/.exec(text.split('/').at(-1) ?? '') ?? []));
    };
    await go(tab, '/keys');
    await tab.getByRole('button', { name: words.keys.new, exact: true }).click();
    await tab.getByRole('dialog').getByRole('button', { name: words.create, exact: true }).click();
    await tab.getByText(words.keys.once, { exact: true }).waitFor();
    await shownOnce();
    await go(tab, '/heartbeats/new');
    await tab.getByLabel(words.name, { exact: true }).fill('Canary');
    await tab.getByRole('button', { name: words.monitors.createAndCopy, exact: true }).click();
    await tab.getByText(words.monitors.waiting).waitFor();
    await shownOnce();
    assert.ok(secrets.length >= 2, secrets.join(' '));
    await go(tab, '/');
    const kept = await keptIn(tab);
    const devtools = await context.newCDPSession(tab);
    const { entries } = await devtools.send('Page.getNavigationHistory');
    for (const secret of secrets) {
      assert.equal(kept.includes(secret), false);
      assert.equal(JSON.stringify(entries).includes(secret), false);
    }
  });
});
