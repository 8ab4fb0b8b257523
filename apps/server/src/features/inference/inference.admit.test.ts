import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import OpenAI from 'openai';
import { createAccount, http, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { answers, openModels, pathOf, replies, speaks } from './inference.testing.ts';

describe('what a provider keeps or runs for itself', () => {
  const { gateway, second, providers } = shared(() =>
    openModels<'main' | 'open'>(
      ['main', 'open'],
      ({ main, open }) => ({
        lanes: [
          { id: 'main', kind: 'responses', base_url: `${main}/v1`, models: ['r'] },
          {
            id: 'open',
            kind: 'responses',
            base_url: `${open}/v1`,
            models: ['r', 'o'],
            allow: ['background', 'stored'],
            priority: 2,
          },
          {
            id: 'chat',
            kind: 'openai',
            base_url: `${main}/v1`,
            models: ['c', 'd'],
            forbid: ['service_tier', 'plugins'],
          },
          { id: 'messages', kind: 'anthropic', base_url: main, models: ['m'] },
        ],
      }),
      { gateways: 2 },
    ),
  );
  let [account, stranger] = [] as unknown as [TestAccount, TestAccount];
  let nth = 0;
  beforeEach(async () => {
    [account, stranger] = [await createAccount(gateway), await createAccount(gateway)];
    for (const provider of [providers.main, providers.open]) {
      provider.taken.length = 0;
      provider.script = (response, taken) => {
        if (taken.path !== pathOf.responses || taken.body['stream']) return speaks(response, taken);
        const { output, ...whole } = answers.responses.whole;
        const items = output.map((item, at) => ({ ...item, id: `item_${nth}_${at}` }));
        return replies({ ...whole, id: `resp_${++nth}`, output: items })(response, taken);
      };
    }
  });
  const ask = (by: TestAccount, body: object, at = gateway) =>
    http(at.url, pathOf.responses, { key: by.key, body: { model: 'r', input: 'x', ...body } });

  test('a response can be gone on from by its own account, over any gateway, and by no other', async () => {
    const { body: first } = await ask(account, {});
    const { id, output } = first;
    const next = await ask(account, { previous_response_id: id }, second);
    assert.deepEqual([next.status, next.headers.get('x-svc-lane')], [200, 'main']);
    const item = [{ type: 'item_reference', id: output[0].id }];
    assert.equal((await ask(account, { input: item })).status, 200);
    const { length: asked } = providers.main.taken;
    for (const body of [{ previous_response_id: id }, { input: item }, { previous_response_id: 'resp_unknown' }])
      assert.equal((await ask(stranger, body)).status, 404);
    assert.equal(providers.main.taken.length, asked);
  });

  test('a streamed response is its account’s before the client has its last event', async () => {
    const client = (key: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 });
    let id = '';
    for await (const event of await client(account.key).responses.create({ model: 'r', input: 'x', stream: true }))
      if (event.type === 'response.completed') id = event.response.id;
    assert.equal((await ask(account, { previous_response_id: id })).status, 200);
    assert.equal((await ask(stranger, { previous_response_id: id })).status, 404);
  });

  test('what runs on at a provider, or refers to what the operator keeps there, goes only to a lane that allows it', async () => {
    const file = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }];
    for (const body of [
      { background: true },
      { conversation: 'conv_1' },
      { input: file },
      { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
      { tools: [{ type: 'code_interpreter', container: 'cntr_1' }] },
    ]) {
      const { status, headers } = await ask(account, body);
      assert.deepEqual([status, headers.get('x-svc-lane')], [200, 'open'], JSON.stringify(body));
    }
    const image = [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'file-1' } }] }];
    const message = { model: 'm', max_tokens: 9, messages: image };
    const { status, body } = await http(gateway.url, pathOf.messages, { key: account.key, body: message });
    assert.deepEqual([status, Object.keys(body.error.details.fieldErrors)], [400, ['messages']]);
    const tools = [{ type: 'function', name: 'a', parameters: { properties: { file_id: { type: 'string' } } } }];
    assert.equal((await ask(account, { tools })).headers.get('x-svc-lane'), 'main');
  });

  test('a container is not used again, by whatever lane', async () => {
    const messages = [{ role: 'user', content: 'x' }];
    for (const container of [{ id: 'container_1' }, 'container_1', { id: 'container_1', skills: null }]) {
      const body = { model: 'm', max_tokens: 9, messages, container };
      const { status, body: said } = await http(gateway.url, pathOf.messages, { key: account.key, body });
      assert.deepEqual([status, Object.keys(said.error.details.fieldErrors)], [400, ['container.id']]);
    }
    assert.equal(providers.main.taken.length, 0);
  });

  test('an idempotency key goes upstream as one of its account', async () => {
    const keyOf = async (by: TestAccount) => {
      const headers = { 'idempotency-key': 'the-same' };
      await http(gateway.url, pathOf.responses, { key: by.key, headers, body: { model: 'r', input: 'x' } });
      return providers.main.taken.at(-1)?.headers['idempotency-key'];
    };
    const [first, again, other] = [await keyOf(account), await keyOf(account), await keyOf(stranger)];
    assert.match(String(first), /^[0-9a-f]{64}$/);
    assert.deepEqual([again, other === first], [first, false]);
  });

  test('a field beside `model` that names a model is judged by the list of the key, and a name that stands twice is refused', async () => {
    const terms = { name: 'listed', models: ['c', 'd'] };
    const { key } = (await http(gateway.url, '/v1/keys', { key: account.key, body: terms })).body;
    const body = { model: 'c', messages: [{ role: 'user', content: 'x', model: 'mine' }] };
    const chat = async (by: string, fields: object) =>
      (await http(gateway.url, pathOf.chat, { key: by, body: { ...body, ...fields } })).status;
    assert.equal(await chat(key, { models: ['d'] }), 200);
    const schema = { type: 'object', properties: { model: { type: 'string' } } };
    assert.equal(await chat(key, { tools: [{ type: 'function', function: { name: 'a', parameters: schema } }] }), 200);
    const { length: asked } = providers.main.taken;
    for (const fields of [
      { models: ['d', 'big'] },
      { fallbacks: ['big'] },
      { fallback_model: 'big' },
      { tools: [{ type: 'image_generation', model: 'big' }] },
      { plugins: [{ id: 'x', model: 'big' }] },
    ])
      assert.equal(await chat(key, fields), 403, JSON.stringify(fields));
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const raw = '{"model":"c","models":["big"],"messages":[{"role":"user","content":"x"}],"mod\\u0065ls":["d"]}';
    const twice = await fetch(`${gateway.url}${pathOf.chat}`, { method: 'POST', headers, body: raw });
    assert.equal(twice.status, 400);
    assert.equal(providers.main.taken.length, asked);
    assert.equal(await chat(account.key, { models: ['big'] }), 200);
  });

  test('a lane gets no field that the file forbids it', async () => {
    const body = { model: 'c', messages: [{ role: 'user', content: 'x' }], service_tier: 'priority' };
    const { status, body: said } = await http(gateway.url, pathOf.chat, { key: account.key, body });
    assert.deepEqual([status, Object.keys(said.error.details.fieldErrors)], [400, ['service_tier']]);
    assert.equal(providers.main.taken.length, 0);
  });
});
