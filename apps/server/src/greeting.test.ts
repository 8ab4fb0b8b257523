import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadConfig } from './config.ts';
import { addressesOf, greeting, keepForOwner } from './greeting.ts';

const interfaces = {
  lo: [address('127.0.0.1', 'IPv4', true), address('::1', 'IPv6', true)],
  eth0: [address('192.0.2.7', 'IPv4'), address('2001:db8::7', 'IPv6'), address('fe80::1', 'IPv6')],
};
function address(text: string, family: 'IPv4' | 'IPv6', internal = false) {
  return { address: text, family, internal, netmask: '', mac: '', cidr: null, scopeid: 0 } as never;
}
const greetingOf = (settings: Record<string, string>): string =>
  greeting(addressesOf(loadConfig({}, settings), 8787, interfaces), undefined, undefined);

describe('the greeting', () => {
  test('says where other machines reach a gateway, and once that its links do not lead there', () => {
    const any = greetingOf({ SVC_HOST: '0.0.0.0' });
    assert.match(any, /^svc is ready at http:\/\/localhost:8787\n/);
    assert.match(any, /from other machines: http:\/\/192\.0\.2\.7:8787\n/);
    assert.equal(any.split('SVC_BASE_URL').length, 2);
    assert.match(greetingOf({ SVC_HOST: '::' }), /http:\/\/192\.0\.2\.7:8787 {2}http:\/\/\[2001:db8::7\]:8787\n/);
    const one = greetingOf({ SVC_HOST: '192.0.2.7' });
    assert.match(one, /^svc is ready at http:\/\/192\.0\.2\.7:8787\n {2}reference: http:\/\/192\.0\.2\.7:8787\/docs\n/);
    assert.match(
      one,
      /links in answers say http:\/\/localhost:8787, which leads other machines nowhere: set SVC_BASE_URL/,
    );
  });

  test('says nothing of it on the loopback, and where the base URL is set', () => {
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.9', '::1']) {
      assert.doesNotMatch(greetingOf({ SVC_HOST: host }), /SVC_BASE_URL|other machines/);
    }
    const set = greetingOf({ SVC_HOST: '0.0.0.0', SVC_BASE_URL: 'https://svc.example.com' });
    assert.equal(set, 'svc is ready at https://svc.example.com\n  reference: https://svc.example.com/docs\n');
  });

  test('shows the key on a terminal; elsewhere it is in a file of its owner, and a line reads it from there', (t) => {
    const folder = mkdtempSync(join(tmpdir(), "svc-it's-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'owner.key');
    writeFileSync(file, 'an old one', { mode: 0o644 });
    const reached = addressesOf(loadConfig({}, {}), 8787);
    const inFile = greeting(reached, keepForOwner(folder, 'key', 'svc_text', false), undefined);
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['svc_text\n', 0o600]);
    assert.ok(!inFile.includes('svc_text'));
    assert.ok(inFile.includes(`$(cat '${file.replace("'", "'\\''")}')"`), inFile);
    assert.match(
      greeting(reached, keepForOwner(folder, 'key', 'svc_text', true), undefined),
      /shown once:\n {2}svc_text\n/,
    );
    assert.equal(keepForOwner(folder, 'key', undefined, false), undefined);
  });

  test('says whose the key is, and that alerts reach nobody where that is so', () => {
    const reached = addressesOf(loadConfig({}, {}), 8787);
    const said = (isReached: boolean, key = true): string =>
      greeting(reached, key ? { text: 'svc_text' } : undefined, { email: 'owner@localhost', isReached });
    assert.match(said(true), /\n {2}svc_text\nIt belongs to owner@localhost\.\n/);
    assert.doesNotMatch(said(true), /alerts/);
    assert.match(
      said(false, false),
      /\n {2}alerts of owner@localhost reach nobody, .*\/v1\/notifications\/webhooks\n$/,
    );
  });
});
