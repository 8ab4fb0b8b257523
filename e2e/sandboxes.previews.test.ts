import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Json } from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { http } from '../apps/server/src/testing.ts';
import { killAll, run } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';

const skip = noBrowser || withoutSandboxes;

/** A page with a secret in its text, in a cookie and in its storage; it answers on `/secret` too. */
const page = (secret: string): string => `
import http.server
class Page(http.server.BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response(200)
    self.send_header('content-type', 'text/html')
    self.send_header('set-cookie', 'own=${secret}; Path=/')
    self.end_headers()
    self.wfile.write(b"<p>${secret}</p><script>localStorage.setItem('own', '${secret}')</script>")
http.server.ThreadingHTTPServer(('127.0.0.1', 3000), Page).serve_forever()`;

import { launchBrowser, noBrowser } from '../apps/server/src/testing.browser.ts';

/**
 * The attack of a page on another preview, whose addresses it knows: to fetch it, to look into it in a frame, to find its
 * cookies and storage in its own, and to plant a cookie there.
 */
const attack = (own: string, path: string): string => `(async () => {
  const [own, path] = ${JSON.stringify([own, path])};
  const tried = {};
  const attempt = async (name, read) => {
    tried[name] = await Promise.try(read).catch(() => 'refused');
  };
  const read = async (url, options) => (await fetch(url, options)).text();
  await attempt('fetch', () => read(own, { credentials: 'include' }));
  await attempt('fetch by path', () => read(path, { credentials: 'include' }));
  await attempt('fetch of a path of its own', () => read('/' + path.split('/')[3] + '/secret'));
  for (const [name, url] of Object.entries({ frame: own, 'frame by path': path })) {
    const frame = document.createElement('iframe');
    frame.src = url;
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve));
    document.body.append(frame);
    await loaded;
    await attempt(name, () => frame.contentWindow.document.body.innerText);
  }
  document.cookie = 'planted=1; Domain=localhost; Path=/';
  await attempt('cookies', () => document.cookie);
  await attempt('storage', () => JSON.stringify({ ...localStorage }));
  return tried;
})()`;

describe('previews in a browser', { skip }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform(0);
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  /** A key of another account. */
  async function another(): Promise<string> {
    const svc = async (...words: string[]): Promise<Json> => {
      const { code, stdout, stderr } = await run([...words, '--json', '--data-dir', dirname(p.nodeDir)]);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    await svc('accounts', 'create', '--email', 'other@example.com');
    await svc('accounts', 'set', '--email', 'other@example.com', '--tool-level', 'l3_sandbox');
    return (await svc('keys', 'create', '--email', 'other@example.com')).key;
  }

  /** The address of a page with a secret in a sandbox of its own. */
  async function preview(key: string, secret: string): Promise<string> {
    const ok = async (path: string, body: object): Promise<Json> => {
      const answer = await http(p.url, path, { method: 'POST', key, body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    const { id } = await ok('/v1/sandboxes', { backend: 'v1' });
    const words = `nohup python3 -c '${page(secret).replaceAll("'", `'"'"'`)}' > /dev/null 2>&1 &
      until curl -s localhost:3000 > /dev/null; do sleep 0.1; done`;
    assert.equal((await ok(`/v1/sandboxes/${id}/exec`, { shell: words })).exit_code, 0);
    return (await ok(`/v1/sandboxes/${id}/preview`, { port: 3000 })).url;
  }

  test('the page of one account cannot read that of another, nor plant a cookie in it', async () => {
    const mine = await preview(p.key, 'my-secret');
    const theirs = await preview(await another(), 'their-secret');
    const { hostname, port } = new URL(theirs);
    const byPath = `http://127.0.0.1:${port}/${hostname.split('.')[0]}/`;
    const instance: Browser = await launchBrowser();
    try {
      const context = await instance.newContext();
      const visited = await context.newPage();
      // A browser that has seen it: by path it comes to the same origin.
      await visited.goto(byPath);
      assert.equal(visited.url(), theirs);
      assert.equal(await visited.locator('p').innerText(), 'their-secret');
      assert.equal(await visited.evaluate('document.cookie'), 'own=their-secret');
      const attacker = await context.newPage();
      await attacker.goto(mine);
      const tried: Record<string, string> = await attacker.evaluate(attack(theirs, byPath));
      assert.ok(!JSON.stringify(tried).includes('their-secret'), JSON.stringify(tried));
      assert.deepEqual(
        ['fetch', 'fetch by path', 'frame', 'frame by path', 'cookies', 'storage'].map((name) => tried[name]),
        ['refused', 'refused', 'refused', 'refused', 'own=my-secret', '{"own":"my-secret"}'],
      );
      await visited.reload();
      assert.equal(await visited.evaluate('document.cookie'), 'own=their-secret');
      assert.equal(await visited.evaluate('localStorage.getItem("own")'), 'their-secret');
    } finally {
      await instance.close();
    }
  });
});
