import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { openTest } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';

const suite = resolve(
  import.meta.dirname,
  '../../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
);

/** Passes requests on with a key: the suite has none to give. */
async function openProxy(target: string, key: string): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const to = request(new URL(url ?? '/', target), {
      method,
      headers: { ...headers, authorization: `Bearer ${key}` },
    });
    to.on('response', (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)));
    to.on('error', () => outgoing.destroy());
    outgoing.on('close', () => to.destroy());
    incoming.pipe(to);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

/** Things that the suite cannot find here, and the checks that want them, with or without a revision. */
const absent: Readonly<Record<string, readonly string[]>> = {
  // Tools of the suite's reference server, by their names.
  'tools that answer what the suite knows': [
    'tools-call-audio',
    'tools-call-elicitation',
    'tools-call-embedded-resource',
    'tools-call-error',
    'tools-call-image',
    'tools-call-mixed-content',
    'tools-call-sampling',
    'tools-call-simple-text',
    'tools-call-with-logging',
    'tools-call-with-progress',
    'elicitation-sep1034-general',
    'elicitation-sep1330-general',
    'sep-2322-elicitation-incomplete',
    'sep-2322-list-roots-incomplete',
    'sep-2322-multi-round-r1',
    'sep-2322-multiple-inputs-incomplete',
    'sep-2322-reject-tampered-state',
    'sep-2322-request-state-incomplete',
    'sep-2322-respect-client-capabilities',
    'sep-2322-result-type-included',
    'sep-2322-sampling-incomplete',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-missing-capability-http-400',
    'sep-2575-server-no-log-without-loglevel',
    'sep-2575-server-rejects-undeclared-capability',
  ],
  'log messages: a tool answers all it has to say': ['logging-set-level'],
  'completion: no argument has a set of values that a server knows better': ['completion-complete'],
  'prompts: what is offered are tools': [
    'prompts-get-embedded-resource',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-with-image',
    'prompts-list',
    'sep-2322-non-tool-incomplete',
    'sep-2549-prompts-list-caching-hints',
  ],
  'resources: files of sandboxes are read by a tool': [
    'resources-list',
    'resources-read-binary',
    'resources-read-text',
    'resources-subscribe',
    'resources-templates-read',
    'resources-unsubscribe',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
};
const known = new Set(Object.values(absent).flat());

/** Checks that must be met, so that a suite which looks at nothing does not pass. */
const met: Readonly<Record<string, readonly string[]>> = {
  '2026-07-28': [
    'tools-list',
    'localhost-host-rebinding-rejected',
    'sep-2549-tools-list-caching-hints',
    'sep-2575-server-implements-discover',
    'sep-2575-http-server-header-mismatch-400',
    'sep-2322-validate-input-responses',
    'wire-schema-valid',
  ],
  '2025-11-25': ['server-initialize', 'tools-list', 'ping', 'localhost-host-rebinding-rejected', 'wire-schema-valid'],
};

/** The suite's findings, of the scenarios that the revision requires: each check with how it ended. */
async function checksOf(url: string, revision: string): Promise<{ id: string; status: string; said: string }[]> {
  using out = mkdtempDisposableSync(join(tmpdir(), 'svc-conformance-'));
  const words = [suite, 'server', '--url', url, '--requirements', revision, '--output-dir', out.path];
  // It ends with 1 when anything failed.
  const stdout = await promisify(execFile)(process.execPath, words).then(
    (ran) => ran.stdout,
    (ran: { stdout: string }) => ran.stdout,
  );
  const optional = [...stdout.matchAll(/^ {2}[✗✓] (\S+) \(/gm)].map(([, name]) => name);
  return readdirSync(out.path).flatMap((folder) => {
    const scenario = /^server-(.+)-\d{4}-\d{2}-\d{2}T/.exec(folder)?.[1];
    if (optional.includes(scenario)) return [];
    const checks = JSON.parse(readFileSync(join(out.path, folder, 'checks.json'), 'utf8')) as Check[];
    return checks.map(({ id, status, errorMessage = '' }) => ({ id, status, said: errorMessage }));
  });
}

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

describe('the conformance suite of the protocol', () => {
  const { gateway, account } = shared(() => openTest());
  for (const [revision, wanted] of Object.entries(met)) {
    test(`a server of tools passes what ${revision} requires of one, but for what it says that it has not`, async () => {
      await using proxy = await openProxy(gateway.url, account.key);
      const checks = await checksOf(`${proxy.url}/mcp`, revision);
      const failed = checks.filter(({ status }) => status === 'FAILURE');
      assert.deepEqual(
        failed.filter(({ id }) => !known.has(id)),
        [],
      );
      // They fail for want of the thing, and for no other reason.
      const want =
        /not found|Not testable: server (?:does not list|exposes no)|Prerequisite failed|Expected InputRequiredResult/;
      assert.deepEqual(
        failed.filter(({ said }) => !want.test(said)),
        [],
      );
      const passed = new Set(checks.flatMap(({ id, status }) => (status === 'SUCCESS' ? [id] : [])));
      assert.deepEqual(
        wanted.filter((id) => !passed.has(id)),
        [],
      );
    });
  }
});
