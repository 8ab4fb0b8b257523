import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeOfOlder } from '../older-node.ts';
import { createScrubber } from './scrub.ts';
import { createTail } from './tail.ts';

const secrets = new Map([
  ['A', 'abcabd'],
  ['B', 'abcabdxyz'],
  ['C', '🙂.*(secret)'],
]);

test('a secret is taken out however the text is cut into pieces', () => {
  const scrubber = createScrubber(secrets);
  const text = 'ab abcab abcabcabd! abcabdxyz abcabdxy 🙂.*(secret)🙂 🙂.*(secret abcabd';
  const whole = scrubber.all(text);
  assert.doesNotMatch(whole, /abcabd|\(secret\)/);
  for (let first = 0; first <= text.length; first += 1) {
    for (const second of [first, first + 1, first + 4, text.length]) {
      const stream = scrubber.stream();
      const parts = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      assert.equal(parts.map((part) => stream.push(part)).join('') + stream.end(), whole, parts.join('|'));
    }
  }
});

test('what may become a secret is held back, no more', () => {
  const stream = createScrubber(secrets).stream();
  assert.equal(stream.push('fine abc'), 'fine ');
  assert.equal(stream.push('x'), 'abcx');
});

test('the hash of a long output does not depend on how it came', () => {
  const text = Buffer.from(`${'line 2026-01-02T03:04:05Z took 5 ms\n'.repeat(3000)}${'x'.repeat(200_000)}\nend`);
  const hashBy = (size: number) => {
    const tail = createTail(createScrubber(new Map()));
    for (let at = 0; at < text.length; at += size) tail.push(text.subarray(at, at + size));
    tail.end();
    return tail.hash();
  };
  const hashes = new Set([hashBy(7), hashBy(1000), hashBy(65_536), hashBy(text.length)]);
  assert.equal(hashes.size, 1);
  assert.match([...hashes][0] ?? '', /^2:[0-9a-f]{64}$/);
});

test('what a schedule ignores does not count in the hash of a long output, a last byte does', () => {
  const hashOf = (end: string, ignore?: string[]) => {
    const tail = createTail(createScrubber(new Map()), ignore);
    tail.push(Buffer.from(`${'line\n'.repeat(20_000)}visitors: ${end.length}\n${end}`));
    tail.end();
    return tail.hash();
  };
  const ignore = ['visitors: #', 'banner *'];
  assert.notEqual(hashOf('x\n'), hashOf('banner 9\nx\n'));
  assert.equal(hashOf('x\n', ignore), hashOf('banner 9\nx\n', ignore));
  assert.notEqual(hashOf('x', ignore), hashOf('y', ignore));
  assert.match(hashOf('x', ignore) ?? '', /^2\+[0-9a-f]{16}:[0-9a-f]{64}$/);
});

test('a long output that changes in its last byte alone is a change, and takes no memory', () => {
  // More than what is normalised: the rest counts as it is.
  const piece = Buffer.from('0123456789abcde\n'.repeat(4_096));
  const hashOf = (last: string) => {
    const tail = createTail(createScrubber(new Map()), ['visitors: #', '*banner*']);
    for (let at = 0; at < 80; at += 1) tail.push(piece);
    tail.push(Buffer.from(last));
    tail.end();
    assert.equal(tail.text().length, 65_536);
    return tail.hash();
  };
  assert.notEqual(hashOf('a'), hashOf('b'));
});

test('an output that was cut inside of a character ends with the one before', () => {
  const textBy = (isCut: boolean): string => {
    const tail = createTail(createScrubber(new Map()));
    tail.push(Buffer.from('one ț').subarray(0, 5));
    tail.end(isCut);
    return tail.text();
  };
  assert.deepEqual([textBy(true), textBy(false)], ['one ', 'one \ufffd']);
});

test('a secret is taken out as programs write it: JSON, repr, addresses, forms, XML, base64 alone and within', () => {
  const value = 'p@ss "w/ord" <&é\'x';
  const scrubber = createScrubber(new Map([['TOKEN', value]]));
  const bytes = Buffer.from(value);
  const written = [
    JSON.stringify({ value }),
    JSON.stringify(value).replaceAll('/', '\\/'),
    `'${value.replaceAll("'", "\\'")}'`,
    `https://host/?t=${encodeURIComponent(value)}`,
    new URLSearchParams({ value }).toString(),
    `<v>${value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</v>`,
    bytes.toString('base64'),
    ...['a:', 'user:', 'someone:'].map((user) => Buffer.from(`${user}${value}\n`).toString('base64')),
    bytes.toString('base64url'),
  ];
  for (const text of written) assert.match(scrubber.all(text), /\[TOKEN\]/, text);
});

test('of a value that is JSON, of many lines or an address, each secret part counts', () => {
  const account = JSON.stringify({ type: 'x', private_key: 'line one of it\nline two', id: 5 });
  const url = 'postgres://app:s3cr%2Fet-9@db/app';
  const scrubber = createScrubber(new Map([['A', account]]), new Map([['DB', url]]));
  assert.equal(scrubber.all('line one of it\nline two'), '[A]');
  assert.equal(scrubber.all('postgres: password s3cr/et-9 is wrong'), 'postgres: password [DB] is wrong');
});

test('what was not said to be a secret is left where it is short, a word or a number', () => {
  const likely = new Map([
    ['DB', 'postgres'],
    ['PORT', '5432'],
    ['ON', 'true'],
    ['ENV', 'production'],
    ['KEY', 'abc123def456'],
  ]);
  const text = 'postgres on 5432: true, production, ';
  assert.equal(createScrubber(new Map(), likely).all(`${text}abc123def456`), `${text}[KEY]`);
  assert.equal(createScrubber(likely).all('postgres'), '[DB]');
});

test('of two secrets of which one begins the other the longer is taken out whole', () => {
  const scrubber = createScrubber(
    new Map([
      ['ONE', 'abcdefgh'],
      ['TWO', 'abcdefghijkl'],
    ]),
  );
  assert.equal(scrubber.all('abcdefghijkl abcdefgh'), '[TWO] [ONE]');
  assert.doesNotMatch(scrubber.all(Buffer.from('u:abcdefghijkl').toString('base64')), /aWprb/);
});

test('on an older Node.js, too, a secret is taken out whatever signs it has', () => {
  const own = Object.getOwnPropertyDescriptor(RegExp, 'escape');
  try {
    Object.defineProperty(RegExp, 'escape', { value: escapeOfOlder, configurable: true });
    for (const value of ['alpha-9/beta', '0x1-2', 'ța🙂-b.*(c)', 'a b\tc'])
      assert.equal(createScrubber(new Map([['A', value]])).all(`<${value}>`), '<[A]>', value);
  } finally {
    if (own) Object.defineProperty(RegExp, 'escape', own);
  }
});
