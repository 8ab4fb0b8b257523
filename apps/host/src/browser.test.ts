import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandsFor, openInBrowser } from './browser.ts';
import { temporaryDirectory } from './testing.ts';

const url = 'http://127.0.0.1:1/a?b=$(id)&c=%s';

test('an address is one word of a command, whatever stands in it', () => {
  assert.deepEqual(commandsFor(url, ['firefox --new-tab %s', 'links'], 'linux'), [
    ['firefox', '--new-tab', url],
    ['links', url],
    ['xdg-open', url],
  ]);
  assert.deepEqual(commandsFor(url, [], 'darwin'), [['open', url]]);
  assert.deepEqual(commandsFor(url, [], 'win32'), [['rundll32', 'url.dll,FileProtocolHandler', url]]);
});

test('the next browser is asked when one is not there or fails, and no address but one of the web', async (context) => {
  const directory = await temporaryDirectory(context);
  for (const [name, code] of [
    ['fails', 1],
    ['opens', 0],
  ] as const)
    await writeFile(join(directory, name), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 });
  const path = (name: string): string => join(directory, name);
  const takes = (browsers: string[], address = url) =>
    openInBrowser(address, { browsers, environment: { PATH: directory } }).taken;
  assert.equal(await takes([path('absent'), path('fails'), path('opens')]), true);
  assert.equal(await takes([path('fails')]), false);
  assert.equal(await takes([path('opens')], 'file:///etc/passwd'), false);
});
