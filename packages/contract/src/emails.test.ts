import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newEmail } from './emails.ts';
import { emailAddress } from './fields.ts';
import { reasonOf } from './reasons.ts';

test('an address with letters that nobody sees, or that turn others around, is none', () => {
  for (const sign of [
    '\u200b',
    '\u200d',
    '\u2060',
    '\ufeff',
    '\u202e',
    '\u2066',
    '\u00ad',
    '\u0000',
    '\u001b',
    '\u3164',
    '\ufe0f',
    '\ue000',
  ])
    for (const address of [`ma${sign}ria@example.test`, `maria@exa${sign}mple.test`, `maria@example.test${sign}`])
      assert.equal(newEmail(address), undefined, JSON.stringify(address));
});

test('an address that mixes scripts, or is written in letters that look like Latin ones, is none', () => {
  for (const address of [
    'm\u0430ria@example.test',
    'mari\u03b1@example.test',
    // The whole name in Cyrillic: it reads as "aca" and "cop".
    '\u0430\u0441\u0430@example.test',
    '\u0441\u043e\u0440.1@example.test',
    'maria@ex\u0430mple.test',
    // Armenian for "ohn", and letters of Latin itself: ɑ, ɡ, ı, ȷ, ɩ and ʟ.
    '\u0585\u0570\u0578@example.test',
    ...['\u0251', '\u0261', '\u0131', '\u0237', '\u0269', '\u029f'].map((sign) => `mari${sign}@example.test`),
  ])
    assert.equal(newEmail(address), undefined, address);
});

test('people of every script have an address, composed, and a domain is kept as the name system has it', () => {
  const kept: Record<string, string> = {
    'Maria.Pop+svc@Example.test': 'Maria.Pop+svc@Example.test',
    'owner@localhost': 'owner@localhost',
    'ștefan@example.test': 'ștefan@example.test',
    's\u0326tefan@example.test': 'ș'.normalize('NFC') + 'tefan@example.test',
    'мария@example.test': 'мария@example.test',
    'արամ@example.test': 'արամ@example.test',
    'jürgen.łęcki@example.test': 'jürgen.łęcki@example.test',
    'γιώργος@example.test': 'γιώργος@example.test',
    '田中さん@example.test': '田中さん@example.test',
    'maria@пример.test': 'maria@xn--e1afmkfd.test',
    'ｍaria@example.test': 'maria@example.test',
  };
  for (const [given, expected] of Object.entries(kept)) assert.equal(newEmail(given), expected, given);
  assert.equal(newEmail('maria@а.а/b'), undefined);
  for (const second of ['maria@example.com.', 'maria@example..com', 'maria@.example.com'])
    assert.equal(newEmail(second), undefined, second);
  assert.equal(newEmail(`${'a'.repeat(250)}@b.test`), undefined);
});

test('the field of requests keeps an address in that form, and refuses the rest', () => {
  assert.equal(emailAddress.parse('maria@пример.test'), 'maria@xn--e1afmkfd.test');
  const { error } = emailAddress.safeParse('m\u0430ria@example.test');
  const said = error?.issues.map(({ message }) => reasonOf(message)?.code);
  assert.deepEqual(said, ['unclear_email']);
});
