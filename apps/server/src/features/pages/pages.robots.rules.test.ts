import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mayFetch, robotsRules } from './pages.robots.rules.ts';

const may = (text: string, path: string): boolean => mayFetch(robotsRules(text, 'svc'), new URL(path, 'http://a.test'));

describe('a robots.txt', () => {
  test('is read as RFC 9309 says: the own group, the longest rule, allow before disallow', () => {
    const table: [text: string, path: string, expected: boolean][] = [
      ['User-agent: *\nDisallow: /', '/x', false],
      ['User-agent: other\nDisallow: /', '/x', true],
      ['User-agent: *\nDisallow: /\n\nUser-agent: SVC/2.0\nAllow: /', '/x', true],
      ['User-agent: *\nDisallow: /\nUser-agent: svc\nDisallow:', '/x', true],
      ['User-agent: other\nUser-agent: svc\nDisallow: /a', '/a/b', false],
      ['User-agent: svc\nDisallow: /a\nUser-agent: svc\nDisallow: /b', '/b', false],
      ['User-agent: *\nDisallow: /a\nAllow: /a/b', '/a/b/c', true],
      ['User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
      ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf', false],
      ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf?a', true],
      ['User-agent: *\nDisallow: /*.pdf', '/x/y.pdf?a', false],
      ['User-agent: *\nDisallow: /a*b*c$', '/a-b-c-c', false],
      ['User-agent: *\nDisallow: /a$', '/ab', true],
      ['User-agent: *\nDisallow: /?q=', '/?q=1', false],
      ['User-agent: *\nDisallow: /ă', '/%C4%83/x', false],
      ['User-agent: *\nDisallow: /%c4%83', '/ă', false],
      ['User-agent: * # all\r\nDisallow: /a # this', '/a', false],
      ['Disallow: /', '/x', true],
      ['', '/x', true],
    ];
    for (const [text, path, expected] of table) assert.equal(may(text, path), expected, `${text} ${path}`);
    assert.equal(robotsRules('User-agent: *\nCrawl-delay: 7.5', 'svc').delay, 7.5);
  });

  test('of 400 kB of stars is read and answers in one pass, and what it forbids stays forbidden', () => {
    const path = `/${'a'.repeat(2_000)}`;
    const began = process.cpuUsage().user;
    for (const rule of [`${'*a'.repeat(200_000)}b`, '*'.repeat(400_000)])
      assert.equal(may(`User-agent: *\nDisallow: /${rule}`, path), false);
    const many = Array.from({ length: 20_000 }, (_, n) => `Disallow: /${'*a'.repeat(9)}*${n}$`).join('\n');
    const { rules } = robotsRules(`User-agent: *\n${many}`, 'svc');
    assert.equal(rules.length, 1_000);
    assert.equal(may(`User-agent: *\n${many}`, path), true);
    // In patterns of the usual kind this takes minutes.
    assert.ok(process.cpuUsage().user - began < 20_000_000);
    assert.equal(may(`User-agent: *\nDisallow: /\nAllow: /${'*a'.repeat(20)}`, path), false);
  });
});
