import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOfRedirect, placeOfRedirect } from './redirects.ts';

test('an answer may go to https, to this machine, or to a scheme that no browser gives a meaning', () => {
  const kinds = {
    web: ['https://www.cursor.com/agents/mcp/oauth/callback', 'https://localhost:1/x'],
    native: [
      'http://localhost:33418/',
      'http://127.0.0.1/callback',
      'http://[::1]:1/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'vscode-insiders://vscode.github-authentication/did-authenticate',
      'zed://oauth',
      'ms-appx-web://microsoft.aad.brokerplugin/x',
      'com.example.app:/callback',
    ],
    fault: [
      ...'javascript data vbscript file blob about filesystem view-source ftp ws wss http intent'
        .split(' ')
        .flatMap((scheme) => [`${scheme}://app.example.test/x`, `${scheme.toUpperCase()}:alert(1)`]),
      'http://127.0.0.2/callback',
      'http://localhost.example.test/callback',
      'https://app.example.test/callback#x',
      'https://user@app.example.test/callback',
      'https://:secret@app.example.test/callback',
      'https://*.example.test/callback',
      'cursor://x#',
      '/callback',
      `zed://${'x'.repeat(2_000)}`,
      7,
    ],
  };
  const kindOf = (uri: unknown) => {
    const kind = kindOfRedirect(uri);
    return typeof kind === 'string' ? kind : 'fault';
  };
  for (const [kind, uris] of Object.entries(kinds))
    for (const uri of uris) assert.equal(kindOf(uri), kind, String(uri));
});

test('a person is shown the host or the scheme of an answer', () => {
  assert.equal(placeOfRedirect('https://app.example.test:444/cb'), 'app.example.test:444');
  assert.equal(placeOfRedirect('cursor://anysphere.cursor-mcp/cb'), 'cursor://');
  assert.equal(placeOfRedirect('com.example.app:/cb'), 'com.example.app://');
  assert.equal(placeOfRedirect(undefined), undefined);
});
