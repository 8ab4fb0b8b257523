import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { http, openTest, until } from '../../testing.ts';
import { findLanesOff } from '../providers/index.ts';
import { checkProviders, listProviders } from './inference.commands.ts';
import { addProvider, aliasProvider, moveProvider, removeProvider } from './inference.edit.commands.ts';
import { answers, replies, type Script, TestProvider } from './inference.testing.ts';

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
      const vectors = { model: body['model'], data: [{ index: 0, embedding: [1] }] };
      const isVectors = body['model'] === 'embed-1';
      if (isVectors !== (path === '/v1/embeddings'))
        return replies({ error: { message: 'no' } }, 400)(response, taken());
      return replies(isVectors ? vectors : { ...answers.chat.whole, model: body['model'] })(response, taken());
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
    const said = await addProvider(place(), 'openai', withKey('right'));
    assert.match((said as { unpriced: string }).unpriced, /^small-1, embed-1: keys with a spend cap/);
    const file = join(dataDir, 'providers.json');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const written = JSON.parse(readFileSync(file, 'utf8'));
    const chat = 'openai/small-1';
    assert.deepEqual(written.aliases, { svc: [chat], 'svc-fast': [chat], 'svc-embed': ['openai/embed-1'] });
    assert.deepEqual(written.lanes[0].models, ['small-1', 'embed-1']);
    const { ok, lanes } = await checkProviders(place());
    assert.equal(ok, true);
    assert.match((lanes[0] as { found: string }).found, /^small-1 answers in \d+ ms$/);
    assert.doesNotMatch(JSON.stringify(listProviders(place())), /right/);
    await addProvider(place(), 'ollama', { ...withKey('right'), id: 'own', model: ['tiny'] });
    assert.equal(listProviders(place()).length, 2);
    await assert.rejects(addProvider(place(), 'ollama', { ...withKey('right'), id: 'own' }), /--id/);
  });

  test('an address without a path is the one below which models are listed, for each kind of that protocol', async () => {
    const { keyFile } = withKey('right');
    const added = async (kind: string, url: string, model?: string[]) => {
      const id = `lane-${listProviders(place()).length}`;
      await addProvider(place(), kind, { id, url, keyFile, ...(model && { model }) });
      const lanes = JSON.parse(readFileSync(join(dataDir, 'providers.json'), 'utf8')).lanes as { base_url: string }[];
      return lanes.at(-1)?.base_url;
    };
    const { url } = provider;
    for (const kind of ['ollama', 'lmstudio', 'llamacpp', 'vllm', 'openai', 'responses']) {
      assert.equal(await added(kind, url), `${url}/v1`, kind);
      assert.equal(await added(kind, `${url}/`, ['small-1']), `${url}/v1`, kind);
    }
    assert.equal(await added('openai', `${url}/v1`), `${url}/v1`);
    assert.equal(await added('openai', `${url}/other`, ['small-1']), `${url}/other`);
    assert.equal(await added('anthropic', `${url}/v1/`, ['small-1']), url);
    const { script } = provider;
    provider.script = (response, taken) =>
      taken.path === '/models'
        ? replies({ data: [{ id: 'small-1' }] })(response, taken)
        : replies({}, 404)(response, taken);
    assert.equal(await added('openai', url), url, 'where that alone lists models');
    provider.script = script;
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

  test('two servers of models of one’s own: the first embeds first and gets no chat; the second joins at the end; each can be moved, taken out and told apart', async () => {
    await using other = await new TestProvider().listen();
    /** As Ollama answers: a model that makes vectors does not chat, and one that chats makes vectors too. */
    const ollama =
      (models: string[], vectors: string[]): Script =>
      (response, taken) => {
        if (taken.path === '/v1/models')
          return replies({ object: 'list', data: models.map((id) => ({ id })) })(response, taken);
        const model = String(taken.body['model']);
        if (taken.path === '/v1/embeddings') return replies({ model, data: [{ embedding: [1] }] })(response, taken);
        return vectors.includes(model)
          ? replies({ error: { message: `"${model}" does not support chat` } }, 400)(response, taken)
          : replies({ ...answers.chat.whole, model })(response, taken);
      };
    provider.script = ollama(['all-minilm:latest', 'reader-v2', 'llama3.2:latest'], ['all-minilm:latest', 'reader-v2']);
    other.script = ollama(['qwen3:8b'], []);
    const url = `${provider.url}/v1`;
    const file = join(dataDir, 'providers.json');
    const aliases = () => JSON.parse(readFileSync(file, 'utf8')).aliases;
    const first = (await addProvider(place(), 'ollama', { url })) as { aliases: string };
    assert.deepEqual(aliases(), {
      svc: ['ollama/llama3.2:latest'],
      'svc-fast': ['ollama/llama3.2:latest'],
      'svc-embed': ['ollama/reader-v2'],
    });
    assert.match(first.aliases, /svc is ollama\/llama3\.2:latest/);
    const second = (await addProvider(place(), 'ollama', { url: `${other.url}/v1`, id: 'box' })) as { aliases: string };
    assert.deepEqual(aliases()['svc'], ['ollama/llama3.2:latest', 'box/qwen3:8b']);
    assert.match(second.aliases, /svc tries box\/qwen3:8b last, after ollama\/llama3\.2:latest/);
    const { ok, lanes } = await checkProviders(place());
    assert.deepEqual([ok, lanes.length], [true, 2]);

    const clock = testClock();
    await using open = await openTest({ clock, settings: { SVC_PROVIDERS: file } });
    const ask = async (path = '/v1/chat/completions', model = 'svc') => {
      const body = path.endsWith('embeddings')
        ? { model, input: 'x' }
        : { model, messages: [{ role: 'user', content: 'x' }] };
      const answer = await http(open.gateway.url, path, { key: open.account.key, body });
      return [answer.headers.get('x-svc-lane'), answer.body.model ?? answer.body.error.message] as const;
    };
    const reread = () => clock.advance(6_000);
    assert.deepEqual(await ask(), ['ollama', 'llama3.2:latest']);
    assert.deepEqual(await ask('/v1/embeddings', 'svc-embed'), ['ollama', 'reader-v2']);
    moveProvider(place(), 'box', 1);
    reread();
    assert.deepEqual(await ask(), ['box', 'qwen3:8b']);
    provider.script = replies({}, 500);
    other.script = replies({}, 503);
    const [, message] = await ask();
    assert.match(message, /\(box: it answered 503; ollama: it answered 500\)/);
    const gone = removeProvider(place(), 'ollama') as { gone: string };
    assert.deepEqual([aliases(), gone.gone.split(':')[0]], [{ svc: ['box/qwen3:8b'] }, 'svc-fast, svc-embed']);
    aliasProvider(place(), 'svc-fast', ['box']);
    assert.deepEqual(aliases()['svc-fast'], ['box']);
    aliasProvider(place(), 'svc-fast', []);
    assert.equal('svc-fast' in aliases(), false);
    assert.throws(() => aliasProvider(place(), 'svc', ['nowhere/x']), /no lane has the id nowhere/);
    assert.throws(() => removeProvider(place(), 'ollama'), /there are box/);
    assert.throws(() => moveProvider(place(), 'box', 2), /places 1 to 1/);
  });

  test('a lane whose variable or file is missing is off and told of; the others go on, and it comes back by itself', async () => {
    const keyFile = join(dataDir, 'late.key');
    const file = join(dataDir, 'providers.json');
    const lane = (id: string, more: object) => ({
      id,
      kind: 'openai',
      base_url: `${provider.url}/v1`,
      models: ['small-1'],
      ...more,
    });
    const token = join(dataDir, 'token');
    writeFileSync(token, 'first');
    const lanes = [
      lane('unset', { api_key_env: 'SURELY_NOT_THERE' }),
      lane('late', { api_key_file: keyFile }),
      lane('relative', { api_key_file: 'some.key' }),
      lane('token', { token_command: ['/bin/cat', token], token_s: 60, priority: 2 }),
    ];
    writeFileSync(file, JSON.stringify({ lanes }));
    assert.deepEqual(
      findLanesOff(place()).map(({ id }) => id),
      ['unset', 'late', 'relative'],
    );
    assert.deepEqual(
      listProviders(place()).map((row) => (row as { key: string }).key),
      [
        'the environment has no SURELY_NOT_THERE',
        'api_key_file: ENOENT',
        'api_key_file: some.key is no absolute path',
        'set',
      ],
    );
    const keys: unknown[] = [];
    provider.script = (response, taken) => {
      keys.push(taken.headers.authorization);
      return replies(answers.chat.whole, taken.headers.authorization === 'Bearer first' ? 401 : 200)(response, taken);
    };
    const clock = testClock();
    await using open = await openTest({ clock, settings: { SVC_PROVIDERS: file } });
    const ask = async () => {
      const body = { model: 'small-1', messages: [{ role: 'user', content: 'x' }] };
      const answer = await http(open.gateway.url, '/v1/chat/completions', { key: open.account.key, body });
      return answer.headers.get('x-svc-lane') ?? answer.body.error.message;
    };
    assert.match(
      await ask(),
      /unset: it is off: the environment has no SURELY_NOT_THERE; late: it is off.*token: it answered 401/,
    );
    writeFileSync(token, 'second');
    assert.equal(await ask(), 'token');
    clock.advance(30_000);
    writeFileSync(token, 'third');
    await ask();
    clock.advance(61_000);
    await ask();
    assert.deepEqual(keys, ['Bearer first', 'Bearer second', 'Bearer second', 'Bearer third']);
    writeFileSync(keyFile, 'late-1\n');
    clock.advance(61_000);
    await until(async () => (await ask()) === 'late');
    writeFileSync(keyFile, 'late-2-and-longer\n');
    utimesSync(keyFile, 1, 2);
    await ask();
    assert.deepEqual(keys.slice(-2), ['Bearer late-1', 'Bearer late-2-and-longer']);
    const status = await http(open.gateway.url, '/status');
    assert.deepEqual(
      status.body.providers.map(({ healthy }: { healthy: boolean }) => healthy),
      [false, true, false, true],
    );
    const ready = await http(open.gateway.url, '/health/ready');
    assert.deepEqual([ready.status, ready.body.checks.registry.ok], [200, true]);
    assert.match(ready.body.checks.registry.error, /unset, relative/);
    assert.doesNotMatch(JSON.stringify([status.body, ready.body]), /SURELY|some\.key/);
  });
});
