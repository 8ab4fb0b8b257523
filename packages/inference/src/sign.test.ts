import assert from 'node:assert/strict';
import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { signAws, signGoogle } from './sign.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const at = Date.UTC(2015, 7, 30, 12, 36);
const empty = createHash('sha256').update('').digest('hex');
const scope = 'AKIDEXAMPLE/20150830/us-east-1';

describe('signatures of AWS', () => {
  // Published: the guide's ListUsers, and the test suite of Signature Version 4.
  for (const [name, { method = 'GET', url, headers = {}, service = 'service' }, names, signature] of [
    [
      'the example of the guide',
      {
        url: 'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08',
        headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
        service: 'iam',
      },
      'content-type;host;x-amz-date',
      '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    ],
    [
      'get-vanilla',
      { url: 'https://example.amazonaws.com/' },
      'host;x-amz-date',
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ],
    [
      'post-vanilla',
      { method: 'POST', url: 'https://example.amazonaws.com/' },
      'host;x-amz-date',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    [
      'get-vanilla-query-order-key-case',
      { url: 'https://example.amazonaws.com/?Param2=value2&Param1=value1' },
      'host;x-amz-date',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
  ] as [
    string,
    { method?: string; url: string; headers?: Record<string, string>; service?: string },
    string,
    string,
  ][]) {
    test(name, () => {
      const request = { method, url: new URL(url), headers, bodySha256: empty, region: 'us-east-1', service, at };
      assert.deepEqual(signAws(request, credentials), {
        'x-amz-date': '20150830T123600Z',
        authorization: `AWS4-HMAC-SHA256 Credential=${scope}/${service}/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
      });
    });
  }

  test('a session’s token is sent, and signed', () => {
    const request = { method: 'GET', url: new URL('https://example.amazonaws.com/'), headers: {}, bodySha256: empty };
    const signed = signAws({ ...request, region: 'r', service: 's', at }, { ...credentials, sessionToken: 'token' });
    assert.equal(signed['x-amz-security-token'], 'token');
    assert.match(signed['authorization'] ?? '', /SignedHeaders=host;x-amz-date;x-amz-security-token,/);
  });
});

test('a token of Google is signed by the account’s key, for an hour', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const account = {
    email: 'a@b.iam',
    keyId: 'k1',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
  const [head = '', claims = '', signature = ''] = signGoogle(account, at).split('.');
  assert.ok(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url'));
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  assert.deepEqual(read(head), { alg: 'RS256', typ: 'JWT', kid: 'k1' });
  assert.deepEqual(read(claims), {
    iss: 'a@b.iam',
    sub: 'a@b.iam',
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    iat: at / 1_000,
    exp: at / 1_000 + 3_600,
  });
});
