import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import type { Browser } from 'playwright-core';
import { launchBrowser, noBrowser } from '../apps/server/src/testing.browser.ts';
import { freePort, startPlatform, temporaryFolder } from './platform.ts';

/** Where screenshots go, when somebody wants to look at them. */
const shots = process.env['SVC_TEST_SCREENSHOTS'];

/** A platform, and a browser. */
async function open() {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(temporaryFolder());
  const platform = await startPlatform(join(folder.path, 'data'), await freePort());
  opening.defer(async () => void (await platform.end()));
  const instance = await launchBrowser();
  opening.defer(() => instance.close());
  const stack = opening.move();
  return { platform, instance, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A page, with what it asked for and what went wrong on it. */
async function pageOf(instance: Browser, viewport: { width: number; height: number }) {
  const page = await instance.newPage({ viewport });
  const requested: string[] = [];
  const faults: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  return { page, requested, faults };
}

/** The reference with all operations, and how to open one of them. */
async function openReference(instance: Browser, url: string) {
  const { page, ...heard } = await pageOf(instance, { width: 1280, height: 40_000 });
  await page.goto(`${url}/docs`);
  // Past a hundred operations the page makes those that are in view: here all of them are.
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const operations = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  await page
    .locator('.opblock')
    .nth(operations - 1)
    .waitFor();
  /** Opens an operation and answers its text. */
  const operation = async (operationId: string): Promise<string> => {
    // The page escapes the dot in its ids, and a selector escapes the backslash.
    const block = page.locator(`[id$="-${operationId.replace('.', '\\\\.')}"]`);
    await block.locator('.opblock-summary').click();
    await block.locator('.opblock-body .responses-table').waitFor();
    if (shots) await block.screenshot({ path: join(shots, `${operationId}.png`) });
    return block.innerText();
  };
  return { page, operation, ...heard };
}

describe('pages of the API in a browser', { skip: noBrowser }, () => {
  let at: Awaited<ReturnType<typeof open>>;
  let reference: Awaited<ReturnType<typeof openReference>>;
  before(async () => {
    at = await open();
    reference = await openReference(at.instance, at.platform.url);
  });
  after(() => at?.[Symbol.asyncDispose]());

  test('the reference shows every operation in a real browser, without a request to anywhere else', async () => {
    const { page, requested, faults } = reference;
    const paths = await page.locator('.opblock-summary-path').allInnerTexts();
    for (const path of ['/v1/hosts/{device_id}/exec', '/v1/keys', '/health/ready', '/v1/devices']) {
      assert.ok(
        paths.some((text) => text.replaceAll('\u200b', '') === path),
        path,
      );
    }
    assert.deepEqual(faults, []);
    assert.deepEqual(
      requested.filter((url) => !url.startsWith(at.platform.url) && !url.startsWith('data:')),
      [],
    );
  });

  test('the reference shows what an operation does, an example of it, its errors and its stream', async () => {
    const { operation, faults } = reference;
    const approve = await operation('schedules.approveCommand');
    const { description, example } = docs.schedules.approveCommand;
    for (const text of [description.split('`')[0], example.body.command_hash, '"approved": true', example.params.id]) {
      assert.ok(approve.includes(String(text)), `${text}: ${approve}`);
    }
    const create = await operation('sandboxes.create');
    for (const field of ['"template": "svc-base"', '"ttl_seconds": 3600', '"egress"'])
      assert.ok(create.includes(field));
    for (const field of ['"code": "bad_request"', 'fieldErrors', '"code": "invalid_api_key"', 'sandbox_capacity']) {
      assert.ok(create.includes(field), field);
    }
    const stream = await operation('schedules.stream');
    for (const field of ['text/event-stream', '"event": "schedule"', '"op": "created"', 'ping']) {
      assert.ok(stream.includes(field), field);
    }
    assert.deepEqual(faults, []);
  });

  // The last one: it ends the platform.
  test('the page at the address that is printed fits a phone, says how it is and what to call, and asks nobody else', async () => {
    const { instance, platform } = at;
    const { page, requested, faults } = await pageOf(instance, { width: 320, height: 640 });
    await page.goto(`${platform.url}/`);
    await page.waitForSelector('#state.ok');
    if (shots) await page.screenshot({ path: join(shots, 'home.png'), fullPage: true });
    assert.equal(await page.locator('#state').innerText(), 'It runs, and is ready.');
    assert.match(await page.locator('#features').innerText(), /hosts.*schedules/);
    assert.ok(
      (await page.locator('main').innerText()).includes(`${platform.url}/v1/keys`),
      'calls with its own address',
    );
    const widths: number[] = await page.evaluate('[document.documentElement.scrollWidth, window.innerWidth]');
    assert.ok((widths[0] ?? 0) <= (widths[1] ?? 0), `nothing sticks out: ${widths.join(' of ')}`);
    for (const link of await page.locator('a').all()) {
      const url = new URL((await link.getAttribute('href')) ?? '', platform.url);
      assert.equal((await fetch(url)).status, 200, url.href);
    }
    assert.deepEqual(faults, []);
    assert.ok(
      requested.every((url) => url.startsWith(platform.url) || url.startsWith('data:')),
      requested.join(' '),
    );
    const policy = (await fetch(platform.url)).headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    await platform.end();
    await page.waitForSelector('#state.fault');
  });
});
