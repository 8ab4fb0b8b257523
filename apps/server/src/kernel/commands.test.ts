import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { format, span } from './commands.ts';

describe('commands', () => {
  test('read spans of time in every unit, and refuse what is none', () => {
    assert.deepEqual(['90', '90s', '30m', '12h', '30d', '2w'].map(span), [90, 90, 1800, 43_200, 2_592_000, 1_209_600]);
    for (const bad of ['', '0', '-1', '1y', 'soon', '1.5h']) assert.throws(() => span(bad), /must be a span/);
  });

  test('show no character that a terminal acts on, in text and in JSON', () => {
    const name = 'a\u001b[2J\u009b31m\u202egnp\r\nb\u{e0041}\u2028ș📱';
    const shown = 'a\\u{1b}[2J\\u{9b}31m\\u{202e}gnp\\u{d}\\u{a}b\\u{e0041}\\u{2028}ș📱';
    assert.equal(format([{ name }], false), `name\n${shown}`);
    assert.equal(format({ name, more: [name] }, false).split('\n').length, 2);
    assert.equal(format(name, false), shown);
    const json = format({ name }, true);
    assert.deepEqual(JSON.parse(json), { name });
    assert.doesNotMatch(json, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  test('print records as aligned text, lists as tables, and everything as JSON when asked', () => {
    assert.equal(format({ id: 'x', key: 'y' }, false), 'id   x\nkey  y');
    assert.equal(format([{ a: 1, b: 'long' }, { a: 22 }], false), 'a   b\n1   long\n22  -');
    assert.equal(format([], false), 'none');
    assert.equal(format({ a: [1] }, true), '{"a":[1]}');
  });
});
