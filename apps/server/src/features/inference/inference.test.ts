import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { shared } from '../../testing.shared.ts';
import { asOwner, createAccount, http, openTest, startGateway, type TestAccount, until } from '../../testing.ts';
import { answers, providersFile, replies, type Script, speaks, streams, TestProvider } from './inference.testing.ts';

const laneKey = 'sk-of-the-lane-1234567890';
const ask = { model: 'svc', messages: [{ role: 'user', content: 'the-secret-question' }] };

describe('models', () => {
  const clock = testClock();
  const [first, second] = [new TestProvider(), new TestProvider()];
  const log = new PassThrough();
  let logged = '';
  let file: ReturnType<typeof providersFile>;
  let keyFile: ReturnType<typeof providersFile>;
  let account: TestAccount;
  const content = () => ({
    lanes: [
      {
        id: 'first',
        kind: 'openai',
        base_url: `${first.url}/v1`,
        api_key_file: keyFile.path,
        models: ['small-1', 'gpt-5-mini'],
        prices: { 'small-1': { input: 1, output: 10, cached_input: 0.5 } },
        priority: 1,
      },
      {
        id: 'second',
        kind: 'anthropic',
        base_url: second.url,
        models: ['big-1', { name: 'small-1', as: 'other-name' }],
        priority: 2,
      },
    ],
    aliases: { svc: ['first', 'second'] },
  });

  const {
    gateway,
    second: other,
    database,
  } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(first).listen();
    await opening.use(second).listen();
    log.setEncoding('utf8').on('data', (chunk: string) => (logged += chunk));
    keyFile = opening.use(providersFile({}));
    keyFile.writeText(laneKey);
    file = opening.use(providersFile(content()));
    const settings = { SVC_PROVIDERS: file.path, SVC_LOG_LEVEL: 'trace' };
    const t = opening.use(await openTest({ clock, settings, log, gateways: 2 }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(async () => {
    account = await createAccount(gateway);
    for (const provider of [first, second]) {
      provider.taken.length = 0;
      provider.script = speaks;
    }
    // Lanes that failed in the test before are tried again.
    clock.advance(600_000);
  });
  const chat = (body: object = {}, headers: Record<string, string> = {}, url = gateway.url) =>
    http(url, '/v1/chat/completions', { key: account.key, headers, body: { ...ask, ...body } });
  const open = async (body: object = {}) => {
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const raw = JSON.stringify({ ...ask, stream: true, ...body });
    return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body: raw });
  };
  const settled = async () => {
    clock.advance(1_000);
    await gateway.kernel.usage.flush();
  };

  test('a lane of the same protocol gets the bytes of its client, but for the name of the model, and its beta headers', async () => {
    const raw = `{ "messages" :[{"role":"user","content":"ș😀"}], "big": 12345678901234567890, "model":"svc",\n"new_field":{"model":"x"},"messages2":null}`;
    const headers = {
      'openai-beta': 'assistants=v2',
      'x-stainless-lang': 'js',
      cookie: 'own=1',
      'x-svc-device-name': 'x',
    };
    const answer = await http(gateway.url, '/v1/chat/completions', { method: 'POST', key: account.key, headers, raw });
    assert.equal(answer.status, 200);
    const [taken] = first.taken;
    assert.equal(taken?.raw, raw.replace('"svc"', '"small-1"'));
    assert.deepEqual(answer.body, answers.chat.whole);
    assert.deepEqual(
      ['openai-beta', 'x-stainless-lang', 'cookie', 'x-svc-device-name'].map((name) => taken?.headers[name]),
      ['assistants=v2', 'js', undefined, undefined],
    );
    assert.equal(taken?.headers.authorization, `Bearer ${laneKey}`);
    assert.equal(answer.headers.get('x-svc-lane'), 'first');
  });

  const failing: Record<string, Script> = {
    'answers 500': replies({ error: { message: 'x' } }, 500),
    'answers 401': replies({ error: { message: `bad key ${laneKey}` } }, 401),
    'answers 429': replies({}, 429, { 'retry-after': '7' }),
    'hangs up': (response) => void response.destroy(),
    'answers what is no JSON': (response) => void response.writeHead(200).end('<html>'),
    'answers an object of something else': replies({ hello: 1 }),
    'says gzip and sends none': (response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"choices":[]}'),
  };
  const failingStreams: Record<string, Script> = {
    'streams nothing': streams(),
    'streams an error first': streams('data: {"error":{"message":"busy"}}\n\n'),
    'streams its head and stops': streams(answers.chat.stream[0]),
    'streams an end without content': streams('data: [DONE]\n\n'),
    'hangs up after its head': async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream[0]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      response.destroy();
    },
  };
  for (const [what, script] of Object.entries({ ...failing, ...failingStreams })) {
    test(`a lane that ${what} is followed by the next one, and its client notices nothing`, async () => {
      first.script = script;
      const stream = what in failingStreams;
      if (stream) {
        const text = await (await open()).text();
        assert.match(text, /Let me .*see\. ☀️/s);
        assert.match(text, /data: \[DONE\]\n\n$/);
        assert.doesNotMatch(text, /error/);
      } else {
        const { status, body, headers } = await chat();
        assert.deepEqual([status, body.choices[0].message.content], [200, 'Let me see. ☀️']);
        assert.equal(headers.get('x-svc-lane'), 'second');
      }
      assert.equal(second.taken[0]?.body['model'], 'big-1');
      // It is left alone for a while.
      assert.equal((await chat()).headers.get('x-svc-lane'), 'second');
      assert.equal(first.taken.length, 1);
    });
  }

  test('a request that a provider finds wrong goes to no other lane, and its client hears why, without the key of the lane', async () => {
    for (const status of [400, 422]) {
      first.script = replies({ error: { message: `temperature: no, ${laneKey}` } }, status);
      const { status: got, body } = await chat();
      assert.deepEqual([got, body.error.message], [status, 'temperature: no, ***']);
    }
    assert.equal(second.taken.length, 0);
  });

  test('when every lane fails the answer is 502, with Retry-After when all have too much to do', async () => {
    first.script = second.script = replies({}, 500);
    const failed = await chat();
    assert.deepEqual(
      [failed.status, failed.body.error.code, failed.headers.get('retry-after')],
      [502, 'upstream_error', null],
    );
    clock.advance(600_000);
    first.script = replies({}, 429, { 'retry-after': '40' });
    second.script = replies({}, 529, { 'retry-after': '20' });
    const busy = await chat();
    assert.deepEqual([busy.status, busy.headers.get('retry-after')], [502, '20']);
  });

  test('a stream that is cut ends with the error of its protocol, and never as a whole one', async () => {
    first.script = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const frame of answers.chat.stream.slice(0, 5)) response.write(frame);
      await new Promise((resolve) => setTimeout(resolve, 5));
      response.destroy();
    };
    const text = await (await open()).text();
    assert.match(text, /Let me .*data: \{"error":\{"message":"[^"]*cut/s);
    assert.doesNotMatch(text, /\[DONE\]|finish_reason":"/);
    assert.equal(second.taken.length, 0, 'never after the first content');
  });

  test('silence is ended by the limits of the lane: before the first content another lane answers, after it the stream is cut', async () => {
    first.script = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const pending = open();
    await until(() => first.taken.length === 1);
    clock.advance(302_000);
    assert.match(await (await pending).text(), /\[DONE\]/);
    clock.advance(600_000);
    first.script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream.slice(0, 4).join(''));
    };
    const answer = await open();
    await until(() => first.taken.length === 2);
    clock.advance(61_000);
    assert.match(await answer.text(), /cut/);
  });

  test('a client that leaves takes its request from the provider', async () => {
    first.script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream.slice(0, 5).join(''));
    };
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'x-request-id': 'left' },
      body: JSON.stringify({ ...ask, stream: true }),
      signal: leaving.signal,
    });
    await answer.body?.getReader().read();
    leaving.abort();
    await until(() => first.taken[0]?.aborted === true);
    assert.equal(second.taken.length, 0);
    await until(async () => {
      await settled();
      return (await http(gateway.url, '/v1/receipt?trace_id=left', { key: account.key })).status === 200;
    });
    const { body } = await http(gateway.url, '/v1/receipt?trace_id=left', { key: account.key });
    assert.equal(body.estimated, true, 'the provider had not counted yet');
  });

  test('a key that is revoked takes its answers with it', async () => {
    first.script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream.slice(0, 5).join(''));
    };
    const answer = await open();
    const reading = answer.text();
    const path = `/v1/keys/${account.keyId}`;
    assert.equal((await http(gateway.url, path, { method: 'DELETE', key: account.key })).status, 200);
    assert.match(await reading, /cut/);
    await until(() => first.taken[0]?.aborted === true);
  });

  test('a client that does not read holds back its provider', async () => {
    const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(60_000) } }] })}\n\n`;
    let written = 0;
    first.script = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      while (!response.destroyed && written < 200_000_000) {
        written += piece.length;
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
    };
    const { port } = new URL(gateway.url);
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const sent = httpRequest({ port, path: '/v1/chat/completions', method: 'POST', headers });
    sent.end(JSON.stringify({ ...ask, stream: true }));
    const [response] = await once(sent, 'response');
    response.pause();
    let before = -1;
    await until(async () => {
      const still = written === before;
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return still;
    });
    assert.ok(written < 100_000_000, `${written} bytes were taken from the provider`);
    sent.destroy();
    await until(() => first.taken[0]?.aborted === true);
  });

  test('a key may ask for what its list names, and sees nothing else', async () => {
    const body = { name: 'narrow', models: ['small-1'] };
    const { key } = (await http(gateway.url, '/v1/keys', { key: account.key, body })).body;
    const { body: listed } = await http(gateway.url, '/v1/models', { key });
    assert.deepEqual(
      listed.data.map(({ id }: { id: string }) => id),
      ['small-1'],
    );
    const refused = await http(gateway.url, '/v1/chat/completions', { key, body: ask });
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.equal(
      (await http(gateway.url, '/v1/chat/completions', { key, body: { ...ask, model: 'small-1' } })).status,
      200,
    );
    const unknown = await chat({ model: 'none' });
    assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'not_found']);
  });

  test('what only a lane of the same protocol can do is refused by field where there is none', async () => {
    const { status, body } = await chat({ model: 'big-1', n: 2 });
    assert.deepEqual([status, Object.keys(body.error.details.fieldErrors)], [400, ['n']]);
  });

  test('messages take x-api-key, and every refusal has the shape that their clients look for', async () => {
    const body = { model: 'svc', max_tokens: 10, messages: ask.messages };
    const asked = await http(gateway.url, '/v1/messages', { headers: { 'x-api-key': account.key }, body });
    assert.deepEqual([asked.status, asked.body.type], [200, 'message']);
    const wrong = await http(gateway.url, '/v1/messages', { headers: { 'x-api-key': 'svc_wrong' }, body });
    assert.deepEqual([wrong.status, wrong.body.type, wrong.body.error.code], [401, 'error', 'invalid_api_key']);
    const bad = await http(gateway.url, '/v1/messages', {
      headers: { 'x-api-key': account.key },
      body: { model: 'svc' },
    });
    assert.deepEqual([bad.status, bad.body.type], [400, 'error']);
    const elsewhere = await http(gateway.url, '/v1/responses', { headers: { 'x-api-key': account.key }, body: ask });
    assert.equal(elsewhere.status, 401);
  });

  test('a receipt tells tokens and cost to the token, of the account alone', async () => {
    const answer = await chat({}, { 'x-request-id': 'receipt-1' });
    // 15 fresh tokens at 1, 5 cached ones at 0.5, 9 out at 10 micro-USD, rounded up.
    assert.equal(answer.headers.get('x-svc-cost-micro-usd'), '108');
    await (await open()).text();
    const path = '/v1/receipt?trace_id=receipt-1';
    await until(async () => {
      await settled();
      return (await http(gateway.url, path, { key: account.key })).status === 200;
    });
    const { body } = await http(gateway.url, path, { key: account.key });
    const { created_at: _, ...receipt } = body;
    assert.deepEqual(receipt, {
      trace_id: 'receipt-1',
      model: 'small-1',
      lane: 'first',
      usage: { input_tokens: 20, output_tokens: 9, cached_tokens: 5 },
      cost_micro_usd: 108,
    });
    const stranger = await createAccount(gateway);
    assert.equal((await http(gateway.url, path, { key: stranger.key })).status, 404);
    const { sql } = gateway.kernel;
    const rows = await sql`select cost_micro_usd from kernel.usage_records
      where account_id = ${account.id} and route = 'chat.completions'`;
    assert.deepEqual(
      rows.map(({ cost_micro_usd: cost }) => cost),
      [108, 108],
    );
  });

  test('whatever a provider counts, receipts of all accounts are written', async () => {
    const receipt = async (key: string, trace: string) => {
      await until(async () => {
        await settled();
        return (await http(gateway.url, `/v1/receipt?trace_id=${trace}`, { key })).status === 200;
      });
      return (await http(gateway.url, `/v1/receipt?trace_id=${trace}`, { key })).body.usage;
    };
    const stranger = await createAccount(gateway);
    const counts = [1e30, -5, 14.5, '7', null];
    for (const [at, count] of counts.entries()) {
      const usage = { prompt_tokens: count, completion_tokens: count, prompt_tokens_details: { cached_tokens: count } };
      first.script = replies({ ...answers.chat.whole, usage });
      assert.equal((await chat({}, { 'x-request-id': `odd-${at}` })).status, 200);
    }
    first.script = speaks;
    await http(gateway.url, '/v1/chat/completions', {
      key: stranger.key,
      headers: { 'x-request-id': 'even' },
      body: ask,
    });
    assert.equal((await receipt(stranger.key, 'even')).input_tokens, 20);
    const seen = [];
    for (const at of counts.keys()) seen.push((await receipt(account.key, `odd-${at}`)).input_tokens);
    assert.deepEqual(seen, [1_000_000_000, 0, 15, 0, 0]);
  });

  test('two hundred requests at once over two gateways pass a spend cap by one of them at most, and leave nothing reserved', async () => {
    const cap = 1_000;
    const body = { name: 'capped', spend_cap_micro_usd: cap };
    const { key } = (await http(gateway.url, '/v1/keys', { key: account.key, body })).body;
    const small = { ...ask, max_completion_tokens: 9 };
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const { url } = n % 2 === 0 ? gateway : other;
        return (await http(url, '/v1/chat/completions', { key, body: small })).status;
      }),
    );
    const { sql } = gateway.kernel;
    const [row] = await sql<{ spent: number }[]>`select coalesce(sum(cost_micro_usd), 0)::bigint as spent
      from kernel.usage_records u join keys.keys k on k.id = u.key_id where k.name = 'capped' and k.account_id = ${account.id}`;
    assert.ok((row?.spent ?? 0) > 0 && (row?.spent ?? 0) < cap + 200, `${row?.spent} spent`);
    assert.deepEqual(new Set(statuses), new Set([200, 429]));
    const left = await sql`select 1 from keys.reservations where account_id = ${account.id}`;
    assert.equal(left.length, 0);
  });

  test('what a gateway that is gone had reserved counts until its lease is over, and no longer', async () => {
    const body = { name: 'capped', spend_cap_micro_usd: 500 };
    const { key, id } = (await http(gateway.url, '/v1/keys', { key: account.key, body })).body;
    const { sql } = gateway.kernel;
    await sql`insert into keys.reservations (account_id, key_id, cost_micro_usd, lease_until)
      values (${account.id}, ${id}, 500, ${new Date(clock.now() + 20_000).toISOString()})`;
    const asked = async () => (await http(gateway.url, '/v1/chat/completions', { key, body: ask })).status;
    assert.equal(await asked(), 429);
    clock.advance(21_000);
    assert.equal(await asked(), 200);
  });

  test('what a request cost while its record could not be written is recorded later, once, and its client has the answer', async () => {
    const body = { name: 'capped', spend_cap_micro_usd: 10_000 };
    const { key, id } = (await http(gateway.url, '/v1/keys', { key: account.key, body })).body;
    const records = async () => {
      const rows = await gateway.kernel.sql`select 1 from kernel.usage_records
        where key_id = ${id} and route = 'chat.completions' and cost_micro_usd = 108`;
      return rows.length;
    };
    first.script = async (response, taken) => {
      await asOwner(database, (sql) => sql`alter table kernel.usage_records rename to away`);
      await speaks(response, taken);
    };
    const { status } = await http(gateway.url, '/v1/chat/completions', { key, body: ask });
    await asOwner(database, (sql) => sql`alter table kernel.away rename to usage_records`);
    assert.equal(status, 200);
    await until(async () => {
      clock.advance(10_000);
      return (await records()) === 1;
    });
    clock.advance(30_000);
    const left = await gateway.kernel.sql`select 1 from keys.reservations where key_id = ${id}`;
    assert.deepEqual([await records(), left.length], [1, 0]);
  });

  test('a gateway that shuts down lets answers end, and tells the clients of the others that theirs is cut', async () => {
    await using closing = await startGateway(database, {
      clock,
      settings: { SVC_PROVIDERS: file.path, SVC_LOG_LEVEL: 'silent' },
    });
    first.script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answers.chat.stream.slice(0, 5).join(''));
    };
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' };
    const raw = JSON.stringify({ ...ask, stream: true });
    const answer = await fetch(`${closing.url}/v1/chat/completions`, { method: 'POST', headers, body: raw });
    const reading = answer.text();
    const closed = closing.close();
    let isClosed = false;
    void closed.then(() => (isClosed = true));
    await until(() => {
      clock.advance(1_000);
      return isClosed;
    });
    assert.match(await reading, /cut/);
  });

  test('the file is read again when it changes; what cannot be used changes nothing', async () => {
    const names = async () =>
      (await http(gateway.url, '/v1/models', { key: account.key })).body.data.map(({ id }: { id: string }) => id);
    const before = await names();
    file.write({ lanes: [{ id: 'x', kind: 'nothing' }] });
    clock.advance(6_000);
    assert.deepEqual(await names(), before);
    file.write({ ...content(), aliases: { svc: ['second'], fresh: ['first'] } });
    clock.advance(6_000);
    assert.ok((await names()).includes('fresh'));
    file.write(content());
    clock.advance(6_000);
  });

  test('no text of a prompt or an answer is in the log, and the key of a lane is nowhere at all', async () => {
    const told: string[] = [];
    for (const status of [500, 401, 400, 422, 429]) {
      first.script = replies({ error: { message: `wrong key ${laneKey}` } }, status, { 'x-echo': laneKey });
      second.script = first.script;
      const answer = await chat();
      told.push(JSON.stringify([answer.body, [...answer.headers]]));
      const stream = await open();
      told.push(await stream.text(), JSON.stringify([...stream.headers]));
      clock.advance(600_000);
    }
    const cut = `data: {"error":{"message":"${laneKey}"}}\n\n`;
    first.script = streams(answers.chat.stream.slice(0, 4).join(''), cut);
    told.push(await (await open()).text());
    for (const path of [
      '/health',
      '/health/ready',
      '/status',
      '/v1/models',
      '/v1/usage',
      '/v1/audit',
      '/v1/notifications',
    ])
      told.push(JSON.stringify((await http(gateway.url, path, { key: account.key })).body));
    await settled();
    assert.ok(logged.includes('a lane failed'));
    for (const secret of ['the-secret-question', 'Let me see', laneKey]) assert.ok(!logged.includes(secret), secret);
    for (const text of told) assert.ok(!text.includes(laneKey), text);
  });

  test('without a provider every model route says which command adds one', async () => {
    await using t = await openTest({});
    const { key } = await createAccount(t.gateway);
    for (const [path, body] of [
      ['/v1/chat/completions', ask],
      ['/v1/messages', { ...ask, max_tokens: 1 }],
      ['/v1/responses', { model: 'svc', input: 'x' }],
      ['/v1/embeddings', { model: 'svc-embed', input: 'x' }],
    ] as const) {
      const { status, body: said } = await http(t.gateway.url, path, { key, body });
      assert.deepEqual([status, said.error.code], [502, 'upstream_error']);
      assert.match(said.error.message, /\.\/svc providers add/);
    }
    assert.deepEqual((await http(t.gateway.url, '/v1/models', { key })).body.data, []);
  });
});
