import assert from 'node:assert/strict';
import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, test } from 'node:test';
import { signAws } from '@svc/inference';
import { http } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { parseRegistry } from '../providers/index.ts';
import { answers, openModels, providersFile, replies, type Script, streams, type Taken } from './inference.testing.ts';

const azureKey = 'azure-key-that-nobody-may-see';
const aws = { AccessKeyId: 'AKIDEXAMPLE', SecretAccessKey: 'aws-secret-that-nobody-may-see', SessionToken: 'session' };
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const google = {
  client_email: 'svc@project.iam',
  private_key_id: 'k1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
};

/** Any path of chat completions answers. */
const chats: Script = (response, taken) =>
  (taken.body['stream'] === true ? streams(...answers.chat.stream) : replies(answers.chat.whole))(response, taken);

/** The signature that AWS would compute of the request that came. */
function signatureOf({ path, headers, raw }: Taken): string | undefined {
  const at = String(headers['x-amz-date']).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, '$1-$2-$3T$4:$5:');
  const request = {
    method: 'POST',
    url: new URL(path, `http://${headers.host}`),
    headers: { 'content-type': String(headers['content-type']) },
    bodySha256: createHash('sha256').update(raw).digest('hex'),
    region: 'eu-central-1',
    service: 'bedrock',
    at: Date.parse(at),
  };
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, SessionToken: sessionToken } = aws;
  return signAws(request, { accessKeyId, secretAccessKey, sessionToken })['authorization'];
}

describe('providers that are asked in their own way', () => {
  const log = new PassThrough();
  let logged = '';
  log.setEncoding('utf8').on('data', (text: string) => (logged += text));
  const { gateway, account, providers } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const fileOf = (text: string): string => {
      const file = opening.use(providersFile({}));
      file.writeText(text);
      return file.path;
    };
    const lane = (id: string, base: string, key: string, dialect: object) => ({
      id,
      kind: 'openai',
      base_url: base,
      api_key_file: fileOf(key),
      models: [`${id}-1`],
      dialect,
    });
    const t = await openModels<'main'>(
      ['main'],
      ({ main }) => ({
        lanes: [
          lane('azure', `${main}/openai/deployments/one`, azureKey, {
            auth_header: 'api-key',
            query: { 'api-version': '2024-10-21' },
            rename: { max_tokens: 'max_completion_tokens' },
            drop: ['user', 'seed'],
          }),
          lane('bedrock', `${main}/openai/v1`, JSON.stringify(aws), {
            signer: { kind: 'aws', region: 'eu-central-1' },
          }),
          lane('vertex', `${main}/v1/endpoints/openapi`, JSON.stringify(google), { signer: { kind: 'google' } }),
          lane('broken', `${main}/v1`, 'a-secret-of-another-kind', { signer: { kind: 'google' } }),
        ],
      }),
      { log, settings: { SVC_LOG_LEVEL: 'trace' } },
    );
    const all = opening.move();
    all.use(t);
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(() => {
    providers.main.taken.length = 0;
    providers.main.script = chats;
  });
  const messages = [{ role: 'user', content: 'Hello' }];
  const chat = (model: string, more: object = {}, path = '/v1/chat/completions') =>
    http(gateway.url, path, { key: account.key, body: { model, messages, ...more } });
  const took = (): Taken => {
    assert.equal(providers.main.taken.length, 1);
    return providers.main.taken[0] as Taken;
  };

  test('Azure gets its key and its version where it looks for them, and fields by its own names', async () => {
    const answer = await chat('azure-1', { max_tokens: 12, seed: 7, temperature: 0.5 });
    const { path, headers, raw } = took();
    assert.equal(answer.status, 200);
    assert.equal(path, '/openai/deployments/one/chat/completions?api-version=2024-10-21');
    assert.deepEqual([headers['api-key'], headers.authorization], [azureKey, undefined]);
    assert.deepEqual(JSON.parse(raw), { model: 'azure-1', messages, max_completion_tokens: 12, temperature: 0.5 });
    assert.equal(answer.headers.get('x-svc-dropped'), 'seed');
  });

  test('what is translated for it is renamed too, in a stream and whole', async () => {
    for (const stream of [false, true]) {
      providers.main.taken.length = 0;
      await chat('azure-1', { max_tokens: 12, stream }, '/v1/messages');
      const { body } = took();
      assert.deepEqual([body['max_completion_tokens'], body['max_tokens']], [12, undefined]);
    }
  });

  for (const [what, content] of [
    ['short', 'Hello'],
    // It is put on disk, and sent in pieces.
    ['long', 'long '.repeat(100_000)],
  ] as const) {
    test(`Bedrock gets a signature of what it is sent: a ${what} request`, async () => {
      const answer = await chat('bedrock-1', { messages: [{ role: 'user', content }] });
      assert.equal(answer.status, 200);
      const { headers, ...taken } = took();
      assert.equal(headers['x-amz-security-token'], aws.SessionToken);
      assert.equal(headers.authorization, signatureOf({ headers, ...taken }));
    });
  }

  test('Vertex gets a token that the service account signed', async () => {
    assert.equal((await chat('vertex-1')).status, 200);
    const { path, headers } = took();
    const [head = '', claims = '', signature = ''] = String(headers.authorization).replace('Bearer ', '').split('.');
    assert.equal(path, '/v1/endpoints/openapi/chat/completions');
    assert.ok(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url'));
  });

  test('a key that is none of its signer’s turns the lane off, and no message repeats it', async () => {
    const answer = await chat('broken-1');
    assert.equal(answer.status, 502);
    assert.match(JSON.stringify(answer.body), /no service account of Google/);
    assert.equal(providers.main.taken.length, 0);
  });

  test('a provider that repeats what it got tells the client neither key nor signature', async () => {
    for (const model of ['azure-1', 'bedrock-1', 'vertex-1']) {
      let sent = '';
      providers.main.script = (response, taken) => {
        sent = String(taken.headers['api-key'] ?? taken.headers.authorization).replace('Bearer ', '');
        return replies({ error: { message: `bad credentials: ${sent}` } }, 400)(response, taken);
      };
      const { status, body } = await chat(model);
      assert.equal(status, 400);
      assert.match(body.error.message, /^bad credentials: /);
      assert.ok(sent !== '' && !JSON.stringify(body).includes(sent), model);
    }
  });

  test('no secret of a lane stands in the log', () => {
    for (const secret of [azureKey, aws.SecretAccessKey, 'PRIVATE KEY', 'a-secret-of-another-kind'])
      assert.ok(!logged.includes(secret));
  });

  for (const [dialect, fault] of [
    [{ drop: ['max_tokens'] }, /cannot leave out/],
    [{ rename: { messages: 'prompt' } }, /one name everywhere/],
    [{ auth_header: 'Api Key' }, /header in lower case/],
    [{ signer: { kind: 'aws' } }, /region/],
    [{ signer: { kind: 'azure' } }, /signer/],
  ] as const) {
    test(`a file is refused with ${JSON.stringify(dialect)}`, () => {
      const lanes = [{ id: 'one', kind: 'openai', dialect }];
      assert.throws(() => parseRegistry(JSON.stringify({ lanes })), fault);
    });
  }
});
