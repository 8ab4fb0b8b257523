import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAccount, http, openTest } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { article, openWeb } from '../tools/tools.testing.ts';
import { domainOf, judgementOf, type Rule } from './rules.decide.ts';

const rule = (text: string): Rule => {
  const [level, effect, domain, tool] = text.split(' ');
  return {
    account_id: level === 'own' ? 'an account' : null,
    effect: effect as Rule['effect'],
    domain: domain ?? '',
    tool: (tool ?? null) as Rule['tool'],
  };
};

describe('rules', () => {
  test('deny wins, allow means nothing else, and both levels must let an address pass', () => {
    const table: [string[], string, string][] = [
      [[], 'http://example.com/', ''],
      [['all deny example.com'], 'http://example.com/', 'search fetch'],
      [['all deny example.com'], 'http://a.b.example.com./x', 'search fetch'],
      [['all deny example.com'], 'http://notexample.com/', ''],
      [['all deny example.com fetch'], 'http://example.com/', 'fetch'],
      [['all deny example.com', 'all allow a.example.com'], 'http://a.example.com/', 'search fetch'],
      [['all allow example.com'], 'http://example.org/', 'search fetch'],
      [['all allow example.com search'], 'http://example.org/', 'search'],
      [['all allow example.com', 'own allow example.org'], 'http://example.org/', 'search fetch'],
      [['all allow example.com', 'own allow example.org'], 'http://example.com/', 'search fetch'],
      [['all allow example.com', 'own allow a.example.com'], 'http://a.example.com/', ''],
      [['own deny *'], 'http://example.com/', 'search fetch'],
      [['all allow *', 'own deny 2001:db8::1'], 'http://[2001:db8::1]/', 'search fetch'],
    ];
    for (const [rules, url, expected] of table) {
      const judgement = judgementOf(rules.map(rule));
      const refused = (['search', 'fetch'] as const).filter((tool) => judgement.refuses(tool, new URL(url)));
      assert.equal(refused.join(' '), expected, `${rules.join(', ')}: ${url}`);
    }
  });

  test('a domain is kept in the spelling of addresses, and what is none is refused', () => {
    const table: [string, string | undefined][] = [
      ['Example.COM.', 'example.com'],
      ['*.example.com', 'example.com'],
      ['bücher.de', 'xn--bcher-kva.de'],
      ['0x7f.1', '127.0.0.1'],
      ['2001:DB8::1', '2001:db8::1'],
      ['*', '*'],
      ['http://example.com', undefined],
      ['example.com/path', undefined],
      ['example.com:8080', undefined],
      ['', undefined],
      ['a b', undefined],
      ['user@example.com', undefined],
    ];
    for (const [text, expected] of table) assert.equal(domainOf(text), expected, text);
  });

  test('commands change what fetch and search answer at once, redirects included, for one account or for all', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const other = await createAccount(t.gateway);
    const svc = svcOf(t.gateway);
    web.on('/page', article('A page', ['The Widget Works was founded in 1911 by Ana Pop in Cluj.']));
    web.on('/away', (_request, response) => response.writeHead(302, { location: web.url('/page', '127.0.0.2') }).end());
    const fetch = async (key: string, url: string) =>
      (await http(t.gateway.url, '/v1/tools/fetch', { method: 'POST', key, body: { url } })).status;
    assert.equal(await fetch(t.account.key, web.url('/page', '127.0.0.2')), 200);
    const rule = await svc('rules', 'add', 'deny', '127.0.0.2', '--email', t.account.email);
    assert.deepEqual([rule.effect, rule.domain, rule.tool], ['deny', '127.0.0.2', 'both']);
    assert.equal(await fetch(t.account.key, web.url('/page', '127.0.0.2')), 403, 'a copy that is kept, too');
    assert.equal(await fetch(t.account.key, web.url('/away')), 403);
    assert.equal(await fetch(other.key, web.url('/away')), 200);
    await svc('rules', 'add', 'allow', '127.0.0.3', '--tool', 'fetch');
    assert.equal(await fetch(other.key, web.url('/page')), 403);
    assert.equal((await svc('rules', 'list')).length, 1);
    assert.equal((await svc('rules', 'list', '--email', t.account.email)).length, 1);
    await svc('rules', 'remove', rule.id);
    const search = async (key: string) =>
      (await http(t.gateway.url, '/v1/tools/search', { method: 'POST', key, body: { query: 'widgets' } })).status;
    const all = await svc('rules', 'add', 'deny', '*', '--tool', 'search', '--email', t.account.email);
    assert.equal(await search(t.account.key), 403, 'an empty answer would say that there is nothing');
    await svc('rules', 'remove', all.id);
    assert.deepEqual(await svc('rules', 'list', '--email', t.account.email), []);
    for (const line of [
      ['rules', 'add', 'deny', 'http://example.com'],
      ['rules', 'remove', rule.id],
      ['rules', 'remove', 'x'],
    ])
      await assert.rejects(svc(...line), { name: 'CommandError' });
  });
});
