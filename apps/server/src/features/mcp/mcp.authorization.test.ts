import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempDisposableSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { http } from '../../testing.ts';
import { freePort, openPlatform, type Platform, person } from '../auth/auth.testing.ts';

const suite = resolve(
  import.meta.dirname,
  '../../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
);

describe('the conformance suite of the protocol, for what gives access tokens', () => {
  let t: Platform;
  before(async () => {
    t = await openPlatform();
  });
  after(() => t?.[Symbol.asyncDispose]());

  test('an authorization server passes every check that the suite has', async () => {
    const base = `http://localhost:${t.port}`;
    const { browser } = await person(t, `${base}/auth`);
    const port = await freePort();
    const redirect = `http://127.0.0.1:${port}/callback`;
    const registered = await http(base, '/auth/register', { body: { redirect_uris: [redirect] } });
    using out = mkdtempDisposableSync(join(tmpdir(), 'svc-conformance-'));
    const whom = ['--url', `${base}/auth`, '--resource', `${base}/mcp`, '--output-dir', out.path];
    const who = ['--client-id', registered.body.client_id, '--port', String(port)];
    const running = spawn(process.execPath, [suite, 'authorization', ...whom, ...who], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(running, 'exit');
    const said: string[] = [];
    // It prints an address, and waits for the person who opens it.
    for await (const line of createInterface(running.stdout)) {
      said.push(line);
      if (!line.startsWith(`${base}/auth/authorize?`)) continue;
      const { answer } = await browser.letIn(line, redirect);
      assert.equal((await fetch(answer)).status, 200);
    }
    const [code] = (await ended) as [number];
    const checks = globSync(`${out.path}/**/checks.json`).flatMap(
      (file) => JSON.parse(readFileSync(file, 'utf8')) as { id: string; status: string; errorMessage?: string }[],
    );
    assert.deepEqual(
      Object.fromEntries(checks.map(({ id, status, errorMessage }) => [id, errorMessage ?? status])),
      {
        'authorization-server-metadata': 'SUCCESS',
        'authorization-server-metadata-cimd': 'SUCCESS',
        'authorization-code-grant': 'SUCCESS',
      },
      said.join('\n'),
    );
    assert.equal(code, 0, said.join('\n'));
  });
});
