import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Request, Route } from 'playwright-core';
import { testSandboxes } from '../../config.ts';
import { noBrowser } from '../../testing.browser.ts';
import { until } from '../../testing.ts';
import { nodeOfTests } from '../sandboxes/sandboxes.testing.ts';
import { checkLooks, go, HubTest, type Opened } from './hub.testing.ts';

const skip = noBrowser || (testSandboxes() === undefined && 'no sandboxes on this machine');

describe('sandboxes in the hub', { skip }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open({ SVC_SANDBOXD_SOCKET: nodeOfTests() });
  });
  after(() => hub?.[Symbol.asyncDispose]());

  const boxOf = async ({ make }: Opened, fields: object = {}): Promise<string> =>
    (await make('/v1/sandboxes', { template: 'svc-base', ttl_seconds: 900, ...fields })).id;

  for (const [locale, size] of [
    ['en', 'phone'],
    ['ro', 'screen'],
  ] as const)
    test(`a Python cell in a fresh sandbox is three taps away (${locale}, ${size})`, async () => {
      await using opened = await hub.person(locale, size);
      const { tab, words, check } = opened;
      const text = words.sandboxes;
      await go(tab, '/sandboxes');
      await tab.getByRole('button', { name: text.new, exact: true }).first().click();
      await tab.getByRole('button', { name: words.create, exact: true }).click();
      const cells = tab.frameLocator('.cells-frame');
      await cells.getByLabel(text.code).fill('import math\nprint(math.factorial(20))');
      await cells.getByRole('button', { name: text.run, exact: true }).click();
      await cells.getByText('2432902008176640000').waitFor();
      // As high as what it shows: nothing scrolls inside.
      const fits = () =>
        cells
          .locator('html')
          .evaluate((page: any) => page.scrollHeight <= page.ownerDocument.defaultView.innerHeight + 1);
      await until(fits);
      await checkLooks(tab, `sandbox-${locale}-${size}`);
      check();
    });

  test('while an image is built the dialog says how far it is, and who closes it asks no more', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words, check } = opened;
    const text = words.sandboxes;
    const error = { code: 'sandbox_capacity', message: 'it is built', details: { image: { percent: 41 } } };
    const answers = [(route: Route) => route.fulfill({ status: 503, json: { error } })];
    const second = Promise.withResolvers<Request>();
    await tab.context().route('**/v1/sandboxes', async (route) => {
      if (route.request().method() !== 'POST') return await route.fallback();
      // The second one is never answered.
      return await (answers.pop()?.(route) ?? second.resolve(route.request()));
    });
    await go(tab, '/sandboxes');
    await tab.getByRole('button', { name: text.new, exact: true }).first().click();
    await tab.getByRole('button', { name: words.create, exact: true }).click();
    await tab.getByText(text.building(41), { exact: true }).waitFor();
    await checkLooks(tab, 'sandbox-building');
    const asked = await second.promise;
    const ended = tab.context().waitForEvent('requestfailed', (request) => request === asked);
    await tab.getByRole('dialog').getByRole('button', { name: words.cancel, exact: true }).click();
    await ended;
    await tab.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await tab.locator('.toast').count(), 0);
    check();
  });

  test('a terminal types, tells how it ended, and opens again', async () => {
    await using opened = await hub.person('en', 'screen');
    const { tab, words, check } = opened;
    const id = await boxOf(opened);
    await go(tab, `/sandboxes/${id}`);
    await tab.getByRole('link', { name: words.terminal.open, exact: true }).click();
    const terminal = tab.frameLocator('.terminal-frame');
    await terminal.getByText('Connected').waitFor();
    await tab.keyboard.type('echo sum-$((40 + 2)); printf "\\033]0;<img src=x onerror=alert(1)>\\007"\n');
    await terminal.locator('.xterm-rows').getByText('sum-42', { exact: true }).waitFor();
    await checkLooks(tab, 'terminal');
    await tab.keyboard.type('exit 3\n');
    await terminal.getByText('The shell ended (3)').waitFor();
    await terminal.getByRole('button', { name: 'Open again' }).click();
    await terminal.getByText('Connected').waitFor();
    // The keyboard is no prisoner: Ctrl-M lets Tab go on.
    await tab.keyboard.press('Control+m');
    await tab.keyboard.press('Tab');
    const isIn = () => terminal.locator('body').evaluate((body: any) => body.ownerDocument.activeElement.className);
    assert.ok(!(await isIn()).includes('xterm'));
    check();
  });

  test('files go up from this device and come down, whatever they are called', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words, check } = opened;
    const text = words.sandboxes;
    const id = await boxOf(opened);
    await go(tab, `/sandboxes/${id}`);
    const name = '<b onmouseover=alert(1)>ș & #1?.txt';
    await tab.locator('input[type=file]').setInputFiles([
      { name, mimeType: 'text/plain', buffer: Buffer.from('salut') },
      { name: 'two.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(300_000, 7) },
    ]);
    await tab.getByText(text.uploaded(2), { exact: true }).waitFor();
    await tab.getByText(name, { exact: true }).waitFor();
    const coming = tab.waitForEvent('download');
    await tab
      .locator('.row', { hasText: 'ș & #1?.txt' })
      .getByRole('button', { name: text.download, exact: true })
      .click();
    const down = await coming;
    const read = await (await down.createReadStream()).toArray();
    assert.equal(Buffer.concat(read).toString(), 'salut');
    check();
  });

  test('a hostile page of a port shows in its frame and reaches nothing of the hub', async () => {
    await using opened = await hub.person('en', 'screen');
    const { tab, words, make } = opened;
    const id = await boxOf(opened);
    const page =
      '<script>document.title="x";let said="";try{said+=top.document.title}catch{said+="no-top "}' +
      'try{top.location="http://evil.example"}catch{said+="no-move "}' +
      'said+=document.cookie.includes("svc_")?"cookie":"no-cookie ";' +
      'fetch("/v1/me").then(a=>said+=a.status,()=>said+="no-me").then(()=>document.body.append(said))</script>';
    const shell = `mkdir -p s && cat > s/index.html && (cd s && nohup python3 -m http.server 3000 > /dev/null 2>&1 &) ; until curl -s localhost:3000 > /dev/null; do sleep 0.1; done`;
    assert.equal((await make(`/v1/sandboxes/${id}/exec`, { shell, stdin: page })).exit_code, 0);
    await go(tab, `/sandboxes/${id}`);
    await tab.getByRole('button', { name: words.sandboxes.makePreview, exact: true }).click();
    await tab.frameLocator('.preview-frame').getByText('no-top no-move no-cookie 404').waitFor();
    assert.equal(new URL(tab.url()).pathname, `/hub/sandboxes/${id}`);
    assert.ok((await tab.title()).startsWith('Sandbox'));
  });

  test('its menus do what they say: pause, resume, fork, a longer life, destroy by its name', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words, make, check } = opened;
    const text = words.sandboxes;
    const id = await boxOf(opened, { metadata: { name: 'Lab' } });
    const state = async () => (await make(`/v1/sandboxes/${id}`, undefined, 'GET')).status;
    await go(tab, `/sandboxes/${id}`);
    const menu = async (item: string) => {
      await tab.getByRole('button', { name: words.moreActs, exact: true }).click();
      await tab.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await tab.getByRole('button', { name: words.actions.pause, exact: true }).click();
    await tab.locator('main .status', { hasText: text.states.paused }).waitFor();
    assert.equal(await state(), 'paused');
    await tab.getByRole('button', { name: words.actions.resume, exact: true }).click();
    await tab.locator('main .status', { hasText: text.states.running }).waitFor();
    await menu(text.extend);
    await tab.getByRole('dialog').getByRole('button', { name: text.extend, exact: true }).click();
    await tab.getByText(text.extended, { exact: true }).waitFor();
    await menu(text.fork);
    await tab.getByText(text.forked, { exact: true }).waitFor();
    await tab.getByRole('link', { name: text.unnamed(id.slice(0, 8)), exact: true }).waitFor();
    await go(tab, '/sandboxes');
    await tab.locator('.fork-1').waitFor();
    await go(tab, `/sandboxes/${id}`);
    await menu(text.destroy);
    const dialog = tab.getByRole('dialog');
    await dialog.getByRole('textbox').fill('Lab');
    await dialog.getByRole('button', { name: text.destroy, exact: true }).click();
    await tab.getByRole('heading', { name: text.title, exact: true }).waitFor();
    assert.equal(await state(), 'destroyed');
    check();
  });
});
