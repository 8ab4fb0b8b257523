import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contactOf, needsContact } from './contact.ts';

const at = (baseUrl: string, more: { mailFrom?: string; pushContact?: string } = {}) => ({
  baseUrl,
  mailFrom: undefined,
  pushContact: undefined,
  ...more,
});

test('the contact of pushes is what the operator set, the sender of mail, the address, or who set the platform up', () => {
  const all = { mailFrom: 'Svc <bot@example.com>', pushContact: 'mailto:me@example.org' };
  assert.equal(contactOf(at('https://svc.example.com', all), 'ana@example.net'), 'mailto:me@example.org');
  const { mailFrom } = all;
  assert.equal(contactOf(at('https://svc.example.com', { mailFrom }), 'ana@example.net'), 'mailto:bot@example.com');
  assert.equal(contactOf(at('https://svc.example.com/x'), 'ana@example.net'), 'https://svc.example.com');
  assert.equal(contactOf(at('http://localhost:8080'), 'ana@example.net'), 'mailto:ana@example.net');
});

test('no contact has a local name: Apple refuses it', () => {
  for (const host of [
    'nas',
    'nas.local',
    'nas.lan',
    'svc.internal',
    '192.168.1.2',
    '[fd00::1]',
    'localhost',
    'x.home.arpa',
  ]) {
    assert.equal(contactOf(at(`https://${host}`), undefined), undefined, host);
    assert.equal(contactOf(at(`https://${host}`), 'ana@example.net'), 'mailto:ana@example.net', host);
  }
  for (const email of ['owner@localhost', 'svc@127.0.0.1', 'ana@nas.lan', 'ana@nas'])
    assert.equal(contactOf(at('http://localhost:8080', { mailFrom: email }), email), undefined, email);
});

test('Apple’s service is known by its name alone', () => {
  assert.ok(needsContact('https://web.push.apple.com/QABC') && needsContact('https://web.push.apple.com./QABC'));
  assert.ok(
    !needsContact('https://push.apple.com.example.org/x') && !needsContact('https://fcm.googleapis.com/fcm/send/x'),
  );
});
