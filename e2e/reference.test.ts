import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { freePort, startPlatform, temporaryFolder } from './platform.ts';

const browser = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
const skip = browser === '' ? 'no chromium on this machine' : false;

describe('reference page', () => {
  test('shows every operation in a real browser, without a request to anywhere else', { skip }, async () => {
    const folder = temporaryFolder();
    const platform = await startPlatform(join(folder.path, 'data'), await freePort());
    const args = ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
    const instance = await chromium.launch({ executablePath: browser, args });
    try {
      const page = await instance.newPage({ viewport: { width: 1280, height: 1400 } });
      const requested: string[] = [];
      const faults: string[] = [];
      page.on('request', (request) => requested.push(request.url()));
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      await page.goto(`${platform.url}/docs`);
      await page.waitForSelector('.opblock-summary-path');
      const paths = await page.locator('.opblock-summary-path').allInnerTexts();
      for (const path of ['/v1/hosts/{device_id}/exec', '/v1/keys', '/health/ready', '/v1/devices']) {
        assert.ok(
          paths.some((text) => text.replaceAll('\u200b', '') === path),
          path,
        );
      }
      assert.deepEqual(faults, []);
      assert.deepEqual(
        requested.filter((url) => !url.startsWith(platform.url) && !url.startsWith('data:')),
        [],
      );
    } finally {
      await instance.close();
      await platform.end();
      await folder.remove();
    }
  });
});
