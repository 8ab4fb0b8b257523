import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offerOf } from '../src/api/push.rules.ts';

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1';
const ipad =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15';
const android =
  'Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Mobile Safari/537.36';
const facts = { touchPoints: 5, isStandalone: false, hasPush: true, permission: 'default' as const };

test('Safari on a phone or tablet is asked to install the hub first, since it tells installed apps only', () => {
  assert.equal(offerOf({ ...facts, userAgent: iphone }), 'install');
  assert.equal(offerOf({ ...facts, userAgent: ipad }), 'install');
  assert.equal(offerOf({ ...facts, userAgent: iphone, isStandalone: true }), 'off');
  // A Mac has no touch screen.
  assert.equal(offerOf({ ...facts, userAgent: ipad, touchPoints: 0 }), 'off');
});

test('other browsers are told at once, unless they cannot be or were forbidden to', () => {
  assert.equal(offerOf({ ...facts, userAgent: android }), 'off');
  assert.equal(offerOf({ ...facts, userAgent: android, permission: 'denied' }), 'denied');
  assert.equal(offerOf({ ...facts, userAgent: android, hasPush: false }), 'impossible');
  assert.equal(offerOf({ ...facts, userAgent: iphone, isStandalone: true, permission: undefined }), 'impossible');
});
