import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser, noBrowser } from '../apps/server/src/testing.browser.ts';
import { killAll } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';
import { imageWith } from './servers.image.ts';

const skip = noBrowser || withoutSandboxes;
const answers = (url: string): string =>
  `for i in $(seq 200); do curl -sfo /dev/null ${url} && exit 0; sleep 0.2; done; exit 1`;

/**
 * Whether Jupyter's page has its kernel. Debian's notebook 6.4 does not notice by itself that a new kernel has answered,
 * on a bare machine neither: any request wakes it.
 */
const connected = `(fetch('/api'), window.Jupyter?.notebook?.kernel?.is_connected() === true)`;

describe('servers of Debian as they are shipped, by preview in a browser', { skip }, () => {
  let p: SandboxPlatform;
  let chrome: Browser;
  let missing: string | undefined;
  before(async () => {
    const image = await imageWith(process.env['SVC_TEST_IMAGES'] ?? '', [
      'python3-django',
      'jupyter-notebook',
      'rails',
    ]);
    if ('missing' in image) {
      missing = image.missing;
      return;
    }
    p = await startSandboxPlatform(0, { SVC_SANDBOX_IMAGES: image.images });
    chrome = await launchBrowser();
  });
  after(async () => {
    await chrome?.close();
    await p?.close();
    killAll();
  });

  const sh = async (box: { id: string }, shell: string): Promise<string> => {
    const ran = await p.exec(box, { shell, timeout_seconds: 120 });
    assert.equal(ran.exit_code, 0, `${shell}\n${ran.stdout}\n${ran.stderr}`);
    return ran.stdout;
  };
  const preview = async (box: { id: string }, port: number): Promise<string> =>
    (await p.ok('POST', `/v1/sandboxes/${box.id}/preview`, { port })).url;
  /** A page in a browser that knows nothing yet, and what it was answered with. */
  const visitor = async (): Promise<{ context: BrowserContext; page: Page; failures: string[] }> => {
    const context = await chrome.newContext();
    const page = await context.newPage();
    const failures: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() >= 400) failures.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
    });
    return { context, page, failures };
  };
  const sandbox = async (t: TestContext, backend: string): Promise<{ id: string } | undefined> => {
    if (missing !== undefined) {
      t.skip(missing);
      return undefined;
    }
    return await p.create({ backend, ttl_seconds: 3_600 });
  };

  const all = process.env['SVC_TEST_SERVERS'] === 'all';
  for (const backend of all ? ['v2', 'v1'] : ['v2']) {
    test(`Django's admin takes a login, a form with its CSRF token and a logout, and stays on the preview's origin on ${backend}`, async (t) => {
      const box = await sandbox(t, backend);
      if (!box) return;
      await sh(
        box,
        `django-admin startproject shop && cd shop && python manage.py migrate > /dev/null &&
          DJANGO_SUPERUSER_PASSWORD=tide-4711 python manage.py createsuperuser --noinput --username ann --email a@example.com`,
      );
      await sh(
        box,
        `cd shop && nohup python manage.py runserver 8000 > log 2>&1 & ${answers('localhost:8000/admin/login/')}`,
      );
      const url = await preview(box, 8000);
      const { context, page, failures } = await visitor();
      await page.goto(`${url}admin/`);
      assert.equal(page.url(), `${url}admin/login/?next=/admin/`);
      await page.fill('#id_username', 'ann');
      await page.fill('#id_password', 'tide-4711');
      await page.click('input[type=submit]');
      await page.waitForURL(`${url}admin/`);
      await page.goto(`${url}admin/auth/group/add/`);
      await page.fill('#id_name', 'crew');
      await page.click('input[name=_save]');
      await page.waitForURL(`${url}admin/auth/group/`);
      assert.match(await page.locator('.messagelist').innerText(), /crew.* was added successfully/);
      assert.deepEqual((await context.cookies(url)).map(({ name, httpOnly }) => `${name} ${httpOnly}`).toSorted(), [
        'csrftoken false',
        'sessionid true',
      ]);
      // Who is logged in stays so.
      if (backend === 'v2') {
        await p.ok('POST', `/v1/sandboxes/${box.id}/pause`);
        assert.equal((await p.ok('POST', `/v1/sandboxes/${box.id}/resume`)).restored, true);
        await page.reload();
        assert.match(await page.locator('#result_list').innerText(), /crew/);
      }
      await page.click('#logout-form button');
      await page.waitForURL(`${url}admin/logout/`);
      assert.match(await page.locator('#content').innerText(), /^Logged out/);
      await page.goto(`${url}admin/auth/group/`);
      assert.match(page.url(), /\/admin\/login\/\?next=/);
      assert.deepEqual(
        failures.filter((line) => !line.endsWith('/favicon.ico')),
        [],
      );
      assert.equal(
        await sh(
          box,
          `cd shop && python manage.py shell -c "from django.contrib.auth.models import Group; print(Group.objects.get())"`,
        ),
        'crew\n',
      );
      await context.close();
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    });
  }
  for (const backend of all ? ['v2', 'v1'] : ['v1']) {
    test(`Rails takes a form with its check of origin and token, redirects, and tells once what it keeps in its session on ${backend}`, async (t) => {
      const box = await sandbox(t, backend);
      if (!box) return;
      await sh(
        box,
        `rails new shop --minimal --skip-bundle --skip-git --skip-asset-pipeline > /dev/null && cd shop &&
          printf 'source "https://rubygems.org"\\ngem "rails"\\ngem "sqlite3"\\ngem "puma"\\n' > Gemfile && bundle install --local &&
          bin/rails generate scaffold boat name:string && bin/rails db:migrate`,
      );
      await sh(box, `cd shop && nohup bin/rails server -p 3000 > log.txt 2>&1 & ${answers('localhost:3000/up')}`);
      const url = await preview(box, 3000);
      const { context, page, failures } = await visitor();
      await page.goto(`${url}boats/new`);
      await page.fill('#boat_name', 'Ștefana');
      await page.click('input[type=submit]');
      await page.waitForURL(`${url}boats/1`);
      assert.match(await page.innerText('body'), /successfully created[^]*Ștefana/);
      await page.reload();
      assert.doesNotMatch(await page.innerText('body'), /successfully created/);
      await page.click('text=Destroy this boat');
      await page.waitForURL(`${url}boats`);
      assert.deepEqual(
        // Without Debian's package of assets there is no stylesheet either.
        failures.filter((line) => !/favicon\.ico$|application\.css$/.test(line)),
        [],
      );
      const forge = `fetch('/boats', { method: 'POST', body: new URLSearchParams({ 'boat[name]': 'x' }) }).then((a) => a.status)`;
      assert.equal(await page.evaluate(forge), 422, 'a form without its token is refused');
      await context.close();
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    });
  }
  for (const backend of all ? ['v2', 'v1'] : ['v1']) {
    test(`Jupyter takes its token, runs a cell from its page over a WebSocket and saves it on ${backend}`, async (t) => {
      const box = await sandbox(t, backend);
      if (!box) return;
      const notebook = {
        cells: [
          {
            cell_type: 'code',
            execution_count: null,
            metadata: {},
            outputs: [],
            source: ['x = 6 * 7\n', 'print("it is", x)'],
          },
        ],
        metadata: { kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' } },
        nbformat: 4,
        nbformat_minor: 4,
      };
      await p.put(box, 'nb/tide.ipynb', JSON.stringify(notebook));
      await sh(
        box,
        `cd nb && nohup jupyter notebook --no-browser > ../jupyter.log 2>&1 & ${answers('localhost:8888/api')}`,
      );
      const [, token = ''] = /token=([0-9a-f]{48})/.exec(await sh(box, 'jupyter notebook list')) ?? [];
      const url = await preview(box, 8888);
      const { context, page, failures } = await visitor();
      await page.goto(url);
      assert.match(page.url(), /\/login\?next=/, 'without a cookie it asks for the token');
      await page.fill('#password_input', token);
      await page.click('#login_submit');
      await page.waitForURL(/\/tree\??$/);
      await page.goto(`${url}notebooks/tide.ipynb`);
      await page.waitForFunction(connected, undefined, { polling: 500 });
      await page.click('.code_cell .CodeMirror');
      await page.keyboard.press('Shift+Enter');
      const output = page.locator('.code_cell .output_stdout').first();
      await output.waitFor();
      assert.equal((await output.innerText()).trim(), 'it is 42');
      await page.keyboard.press('Control+s');
      await page.waitForFunction('window.Jupyter.notebook.dirty === false');
      assert.match(await sh(box, 'cat nb/tide.ipynb'), /it is 42/);
      // The widgets are not installed, as on any machine.
      assert.deepEqual(
        failures.filter((line) => !line.includes('/nbextensions/widgets/')),
        [],
      );
      await page.close();
      await context.close();
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    });
  }
});
