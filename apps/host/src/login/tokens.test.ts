import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { fakePlatform } from '../testing.sign-in.ts';
import { discover } from './discovery.ts';
import { askForDeviceCode, authorizeUrl, awaitDevice, newVerifier, redeemCode } from './tokens.ts';

const { signal } = new AbortController();

async function setUp(context: TestContext) {
  const fake = await fakePlatform(context);
  return { fake, platform: await discover(fake.url) };
}

test('the address for the browser has everything that binds the answer to this sign-in, and no secret', async (context) => {
  const { fake, platform } = await setUp(context);
  const { verifier, challenge } = newVerifier();
  assert.equal(challenge, createHash('sha256').update(verifier).digest('base64url'));
  assert.ok(verifier.length >= 43);
  const given = { scopes: ['sessions', 'prompts'], redirectUri: 'http://127.0.0.1:1/callback', state: 's1', challenge };
  const url = new URL(authorizeUrl(platform, given));
  assert.equal(`${url.origin}${url.pathname}`, `${fake.url}/auth/authorize`);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    response_type: 'code',
    client_id: 'svc-cli',
    redirect_uri: 'http://127.0.0.1:1/callback',
    scope: 'sessions prompts',
    resource: fake.url,
    state: 's1',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  assert.equal(await redeemCode(platform, { code: 'c1', redirectUri: given.redirectUri, verifier }), 'svc_at_EXAMPLE');
  assert.deepEqual(Object.fromEntries(new URLSearchParams(fake.calls.at(-1)?.body)), {
    grant_type: 'authorization_code',
    code: 'c1',
    redirect_uri: 'http://127.0.0.1:1/callback',
    client_id: 'svc-cli',
    code_verifier: verifier,
    resource: fake.url,
  });
});

test('a code for a device is asked for with the name of the machine, and polled at the pace that the provider wants', async (context) => {
  const { fake, platform } = await setUp(context);
  fake.says['POST /auth/device/authorize'] = [
    200,
    { device_code: 'd1', user_code: 'BCDF-GHJK', verification_uri: `${fake.url}/auth/device` },
  ];
  const code = await askForDeviceCode(platform, { scopes: ['sessions'], name: 'șvc box', signal });
  const asked = fake.calls.at(-1);
  assert.equal(Buffer.from(String(asked?.headers['x-svc-device-name']), 'latin1').toString(), 'șvc box');
  assert.deepEqual([code.userCode, code.wholeAddress, code.intervalMs], ['BCDF-GHJK', undefined, 5_000]);
  const answers: [number, object][] = [
    [400, { error: 'authorization_pending' }],
    [400, { error: 'slow_down' }],
    [503, { error: 'temporarily_unavailable' }],
    [400, { error: 'authorization_pending' }],
    [200, { access_token: 't1', token_type: 'bearer' }],
  ];
  fake.says['POST /auth/token'] = () => answers.shift() ?? [500, {}];
  const waits: number[] = [];
  const pause = async (ms: number): Promise<void> => void waits.push(ms);
  assert.equal(await awaitDevice(platform, code, { signal, pause }), 't1');
  assert.deepEqual(waits, [5_000, 5_000, 10_000, 15_000, 15_000]);
  assert.match(fake.calls.at(-1)?.body ?? '', /device_code=d1.+resource=http/);
});

test('polling ends when the person refuses, when the code is over, and at any other refusal', async (context) => {
  const { fake, platform } = await setUp(context);
  const code = await askForDeviceCode(platform, { scopes: [], name: 'box', signal });
  const waits = { signal, pause: async () => {} };
  const refusals: [string, RegExp][] = [
    ['access_denied', /refused on the other device/],
    ['expired_token', /the code is over/],
    ['invalid_grant', /the platform refused: invalid_grant/],
  ];
  for (const [error, message] of refusals) {
    fake.says['POST /auth/token'] = [400, { error }];
    await assert.rejects(awaitDevice(platform, code, waits), { message }, error);
  }
  const over = { ...code, endsAt: performance.now() - 1 };
  await assert.rejects(awaitDevice(platform, over, waits), { message: /the code is over/ });
});

test('an answer that is no token is no sign-in', async (context) => {
  const { fake, platform } = await setUp(context);
  const redeem = () => redeemCode(platform, { code: 'c', redirectUri: 'http://127.0.0.1:1/callback', verifier: 'v' });
  const strange: [number, object][] = [
    [200, { access_token: 't', token_type: 'DPoP' }],
    [200, { access_token: 'two words', token_type: 'Bearer' }],
    [200, {}],
    [400, { error: 'invalid_grant', error_description: 'used before' }],
  ];
  for (const said of strange) {
    fake.says['POST /auth/token'] = said;
    await assert.rejects(redeem(), { message: /the platform gave no token/ });
  }
});
