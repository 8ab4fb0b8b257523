import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSites, sharedSite } from './sites.ts';

const at = (previewDomain: string | undefined, host: string) => {
  const url = `https://${host}`;
  return { previewDomain, baseUrl: url, hubUrl: `${url}/hub`, authUrl: `${url}/auth` };
};

test('a domain of previews on the site of the platform is refused, one of its own or none is taken', async () => {
  for (const [domain, host, site] of [
    ['preview.example.com', 'svc.example.com', 'example.com'],
    ['preview.svc.example.co.uk', 'svc.example.co.uk', 'example.co.uk'],
    ['p.home.duckdns.org', 'home.duckdns.org', 'home.duckdns.org'],
    ['example-previews.com', 'svc.example.com', undefined],
    ['previews.duckdns.org', 'home.duckdns.org', undefined],
    ['preview.test', '127.0.0.1:8787', undefined],
    ['preview.localhost', 'localhost:8787', undefined],
    [undefined, 'svc.example.com', undefined],
  ] as const)
    assert.equal(await sharedSite(at(domain, host)), site, `${domain} ${host}`);
  await assert.rejects(checkSites(at('preview.example.com', 'svc.example.com')), /share the site example\.com; take/);
});
