import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { addProvider, checkProviders, listProviders } from './inference.commands.ts';
import { answers, replies, TestProvider } from './inference.testing.ts';

describe('svc providers', () => {
  let dataDir: string;
  let provider: TestProvider;
  const place = () => ({ config: { providersFile: undefined }, dataDir });
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'svc-providers-'));
    provider = await new TestProvider().listen();
    provider.script = (response, { path, headers, body }) => {
      if (headers.authorization !== 'Bearer right')
        return replies({ error: { message: 'no' } }, 401)(response, taken());
      if (path === '/v1/models') return replies({ data: [{ id: 'small-1' }, { id: 'embed-1' }] })(response, taken());
      return replies({ ...answers.chat.whole, model: body['model'] })(response, taken());
    };
    const taken = () => provider.taken.at(-1) ?? assert.fail();
  });
  afterEach(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true });
  });
  const withKey = (text: string) => {
    const keyFile = join(dataDir, 'key');
    writeFileSync(keyFile, `${text}\n`);
    return { url: `${provider.url}/v1`, keyFile };
  };

  test('add writes a file that works, with what the provider lists and aliases for it', async () => {
    await addProvider(place(), 'openai', withKey('right'));
    const file = join(dataDir, 'providers.json');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const written = JSON.parse(readFileSync(file, 'utf8'));
    assert.deepEqual(written.aliases, { svc: ['openai'], 'svc-fast': ['openai'], 'svc-embed': ['openai'] });
    assert.deepEqual(written.lanes[0].models, ['small-1', 'embed-1']);
    const { ok, lanes } = await checkProviders(place());
    assert.equal(ok, true);
    assert.match((lanes[0] as { found: string }).found, /^small-1 answers in \d+ ms$/);
    assert.doesNotMatch(JSON.stringify(listProviders(place())), /right/);
    await addProvider(place(), 'ollama', { ...withKey('right'), id: 'own', model: ['tiny'] });
    assert.equal(listProviders(place()).length, 2);
    await assert.rejects(addProvider(place(), 'ollama', { ...withKey('right'), id: 'own' }), /--id/);
  });

  test('what cannot be used is said, and writes nothing', async () => {
    await assert.rejects(checkProviders(place()), /svc providers add/);
    await assert.rejects(addProvider(place(), 'openai', {}), /--key-env/);
    await assert.rejects(addProvider(place(), 'openai', { ...withKey('wrong') }), /--model/);
    await assert.rejects(
      addProvider(place(), 'openai', { keyEnv: 'SURELY_NOT_THERE', model: ['x'] }),
      /SURELY_NOT_THERE/,
    );
    assert.deepEqual(listProviders(place()), []);
    await addProvider(place(), 'openai', { ...withKey('wrong'), model: ['small-1'] });
    const { ok, lanes } = await checkProviders(place());
    assert.equal(ok, false);
    assert.match((lanes[0] as { found: string }).found, /answered 401/);
  });
});
