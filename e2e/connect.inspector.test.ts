import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { freePort, person } from '../apps/server/src/features/auth/auth.testing.ts';
import { openTest } from '../apps/server/src/testing.ts';
import { temporaryFolder } from './platform.ts';

/** 240 packages, which nothing else here needs: fetched for this test alone, where it is asked for. */
const inspector = '@modelcontextprotocol/inspector@2.12.0';
const skip = process.env['SVC_TEST_INSPECTOR'] ? false : 'set SVC_TEST_INSPECTOR=1: it fetches 240 packages';

test("the Inspector's command line connects, is let in once, and lists the tools again with what it kept", {
  skip,
}, async () => {
  await using folder = temporaryFolder();
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder.path, inspector], { stdio: 'ignore' });
  const port = await freePort();
  const base = `http://localhost:${port}`;
  await using t = await openTest({ settings: { SVC_PORT: String(port), SVC_BASE_URL: base } });
  const { browser } = await person(t, `${base}/auth`);
  const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
  let signIns = 0;
  const list = async (): Promise<string[]> => {
    const program = join(folder.path, 'node_modules/.bin/mcp-inspector');
    const words = ['--cli', `${base}/mcp`, '--method', 'tools/list', '--format', 'json', '--callback-url', callback];
    const child = spawn(program, words, {
      // No browser of this machine: the person's is played here.
      env: {
        PATH: process.env['PATH'],
        HOME: folder.path,
        BROWSER: 'true',
        MCP_AUTO_OPEN_ENABLED: 'true',
        MCP_INSPECTOR_SECRET_STORE: 'file',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = text(child.stdout);
    let heard = '';
    let isAsked = false;
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      heard += part;
      const [address] = /http\S+\/authorize\?\S+(?=\s)/.exec(heard) ?? [];
      if (isAsked || address === undefined) return;
      isAsked = true;
      signIns += 1;
      void browser.letIn(address, callback).then(({ answer }) => fetch(answer));
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 0, heard);
    const { result } = JSON.parse(await said) as { result: { tools: { name: string }[] } };
    return result.tools.map(({ name }) => name);
  };
  const tools = await list();
  assert.ok(tools.length > 5, tools.join(', '));
  assert.deepEqual(await list(), tools);
  assert.equal(signIns, 1);
});
