import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { until } from '../apps/server/src/testing.ts';
import { killAll } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';

const skip = noBrowser || withoutSandboxes;

const sentence = 'Încheiat astăzi, șase țări și câte un înger.';
const document = `
import docx
d = docx.Document()
d.add_heading('Proces-verbal', 1)
d.add_paragraph(${JSON.stringify(sentence)})
d.save('/workspace/act.docx')`;
const textOfPdf = `
import glob, pypdf
''.join(page.extract_text() for page in pypdf.PdfReader(glob.glob('/workspace/out/*.pdf')[0]).pages)`;

import { launchBrowser, noBrowser } from '../apps/server/src/testing.browser.ts';

/** How many colours a picture of the canvas has, looked at in the page itself. */
const colours = (page: Page): Promise<number> =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return seen.size;
  })()`);

/** Waits for more than the wallpaper, which is one colour; answers where a picture of the page is. */
async function painted(page: Page): Promise<string> {
  const limit = performance.now() + 60_000;
  while ((await colours(page)) < 16 && performance.now() < limit) await page.waitForTimeout(250);
  const picture = join(mkdtempSync(join(tmpdir(), 'svc-desktop-')), 'desktop.png');
  writeFileSync(picture, await page.screenshot());
  assert.ok((await colours(page)) >= 16, `a blank desktop: ${picture}`);
  return picture;
}

describe('the templates', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform(0);
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  test('the first create, right after the start, waits for the node', async () => {
    await p.create({ backend: 'v1' });
    await p.clear();
  });

  test('office-acte turns a document with Romanian letters into a PDF that has them', async () => {
    const writer = await p.create({ backend: 'v1' });
    assert.equal((await p.exec(writer, { language: 'python', code: document })).exit_code, 0);
    const headers = { accept: 'application/octet-stream' };
    const made = await p.exec(writer, 'base64 -w0 act.docx');
    const box = await p.create({ template: 'office-acte' });
    await p.put(box, 'act.docx', Buffer.from(made.stdout, 'base64'));
    const converted = await p.exec(box, {
      shell: 'soffice --headless --convert-to pdf --outdir out act.docx',
      timeout_seconds: 180,
    });
    assert.equal(converted.exit_code, 0, converted.stderr);
    const { data } = await p.ok('GET', `/v1/sandboxes/${box.id}/artifacts`);
    assert.deepEqual([data.length, data[0].path, data[0].mime], [1, 'out/act.pdf', 'application/pdf']);
    const bytes = Buffer.from(await (await fetch(data[0].url, { headers })).arrayBuffer());
    assert.equal(bytes.subarray(0, 5).toString(), '%PDF-');
    const { result, error } = await p.cell(box, textOfPdf);
    assert.equal(error, null);
    assert.ok(result.includes(sentence), result);
    await p.clear();
  });

  test('office-acte starts from a snapshot that has converted a document before', async () => {
    // The first one has it made.
    await p.create({ template: 'office-acte' });
    const golden = join(p.nodeDir, 'golden');
    const isMade = (name: string): boolean => name.startsWith('office-acte-') && !name.endsWith('.new');
    await until(() => existsSync(golden) && readdirSync(golden).some(isMade), 240_000);
    const box = await p.create({ template: 'office-acte' });
    assert.equal(box.restored, true);
    const profile = await p.exec(box, 'ls ~/.config/libreoffice/4/user/registrymodifications.xcu; ls -A . /tmp');
    assert.match(profile.stdout, /^\/home\/user\/\.config/, profile.stderr);
    assert.doesNotMatch(profile.stdout, /first\./);
    await p.clear();
  });

  test('desktop shows a desktop in a browser, through its preview', { skip }, async () => {
    const box = await p.create({ template: 'desktop' });
    const { url } = await p.ok('POST', `/v1/sandboxes/${box.id}/preview`, { port: 6080 });
    let instance: Browser | undefined;
    try {
      instance = await launchBrowser();
      const page = await instance.newPage({ viewport: { width: 1280, height: 800 } });
      const said: string[] = [];
      page.on('console', (message) => said.push(message.text()));
      page.on('websocket', (socket) => {
        said.push(`socket ${socket.url()}`);
        socket.on('socketerror', (error) => said.push(`socket: ${error}`));
        socket.on('close', () => said.push('socket closed'));
      });
      await page.goto(url);
      await page
        .waitForSelector('.noVNC_connected canvas')
        .catch((error: Error) => assert.fail(`${error.message}\n${page.url()}\n${said.slice(0, 20).join('\n')}`));
      const picture = await painted(page);
      // Keys typed there arrive in the sandbox.
      await page.locator('canvas').click({ position: { x: 640, y: 300 } });
      await page.keyboard.type('echo typed > /workspace/typed\n', { delay: 20 });
      const typed = await p.exec(box, 'for i in $(seq 900); do [ -s typed ] && break; sleep 0.1; done; cat typed');
      assert.equal(typed.stdout, 'typed\n', picture);
      // A pause ends the connection, and the same preview shows the same desktop afterwards.
      await p.ok('POST', `/v1/sandboxes/${box.id}/pause`);
      assert.equal((await p.ok('POST', `/v1/sandboxes/${box.id}/resume`)).restored, true);
      await page.goto(url);
      await page.waitForSelector('.noVNC_connected canvas');
      await painted(page);
    } finally {
      await instance?.close();
    }
  });
});
