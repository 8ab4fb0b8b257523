import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { shared } from '../../../testing.shared.ts';
import {
  changesOf,
  clientOf,
  createAccount,
  http,
  openHost,
  openTest,
  startGateway,
  type TestAccount,
  type TestHost,
  until,
} from '../../../testing.ts';

const token = 'a token of this test, long enough';
const day = 86_400_000;

describe('hosts: commands that hosts do by themselves', () => {
  const clock = testClock();
  const { gateway, second, database } = shared(() => openTest({ gateways: 2, clock }));
  let account: TestAccount;
  let deviceId: string;
  const by = (key: string, method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    http(gateway.url, path, { method, key, headers, ...(body && { body }) });
  const ask = (method: string, path: string, body?: object) => by(account.key, method, path, body);
  const asHost = (method: string, path: string, body?: object) =>
    by(account.key, method, path, body, { 'x-svc-device': deviceId });
  const give = (fields: object = {}, key = account.key, headers: Record<string, string> = {}) =>
    by(
      key,
      'POST',
      `/v1/hosts/${deviceId}/exec`,
      { op: 'shell', if_offline: 'wait', detach: true, ...fields },
      headers,
    );
  const given = async (fields: object = {}, key?: string): Promise<string> => {
    const { status, body } = await give(fields, key);
    assert.equal(status, 202, JSON.stringify(body));
    return body.req_id;
  };
  const get = async (id: string) => (await ask('GET', `/v1/hosts/exec/${id}`)).body;
  const stateOf = async (id: string): Promise<string> => (await get(id)).state;
  const start = (id: string, text = token) => asHost('POST', `/v1/hosts/exec/${id}/start`, { token: text });
  const report = (id: string, body: object) => asHost('POST', `/v1/hosts/exec/${id}/result`, body);
  const present = (at = gateway) => openHost(at, account, deviceId, { detached: 'true' });
  const keyOf = async (terms: object): Promise<{ id: string; key: string }> =>
    (await ask('POST', '/v1/keys', terms)).body;
  const turning = (isDone: () => Promise<boolean>) =>
    until(async () => {
      clock.advance(1_000);
      return isDone();
    });
  /** A command that its host has started. */
  async function started(fields: object = {}, key?: string): Promise<{ id: string; host: TestHost }> {
    const host = await present();
    const id = await given(fields, key);
    await host.next();
    assert.equal((await start(id)).status, 200);
    return { id, host };
  }
  const told = async () =>
    ((await ask('GET', '/v1/notifications')).body.notifications as { type: string; data: { req_id: string } }[])
      .filter(({ type }) => type === 'exec.done')
      .map(({ data }) => data.req_id);

  beforeEach(async () => {
    account = await createAccount(gateway);
    deviceId = randomUUID();
    await clientOf(gateway, account.key, deviceId).devices.list();
  });

  test('what waits is answered 202, what does not is as it was: 409 for a host that is away, 404 for a device of nobody', async () => {
    const path = `/v1/hosts/${deviceId}/exec`;
    const codes = async (body: object, where = path) => {
      const { status, body: answer } = await ask('POST', where, { op: 'info', ...body });
      return [status, answer.error?.code ?? answer.state];
    };
    assert.deepEqual(await codes({}), [409, 'host_offline']);
    assert.deepEqual(await codes({ detach: true }), [409, 'host_offline']);
    assert.deepEqual(await codes({ if_offline: 'wait' }), [202, 'waiting']);
    assert.deepEqual(await codes({ if_offline: 'wait', detach: true }), [202, 'waiting']);
    const unknown = `/v1/hosts/${randomUUID()}/exec`;
    assert.deepEqual(await codes({ if_offline: 'wait' }, unknown), [404, 'not_found']);
    assert.deepEqual(await codes({ detach: true }, unknown), [404, 'not_found']);
    for (const expires_in_s of [59, 604_801])
      assert.deepEqual(await codes({ if_offline: 'wait', expires_in_s }), [400, 'bad_request']);
    assert.deepEqual(await codes({ if_offline: 'wait', args: { text: 'x'.repeat(2 ** 21) } }), [
      413,
      'payload_too_large',
    ]);
  });

  test('a call that waits for its result reaches a present host as before, without the fields of those that do not', async () => {
    const host = await openHost(gateway, account, deviceId);
    const answer = ask('POST', `/v1/hosts/${deviceId}/exec`, {
      op: 'info',
      if_offline: 'wait',
      expires_in_s: 60,
      more: 1,
    });
    const { data } = await host.next();
    const { req_id: id, deadline: _, ...frame } = data;
    assert.deepEqual(frame, { op: 'info', args: {}, timeout_ms: 30_000, more: 1 });
    await host.client.hosts.result({ params: { req_id: String(id) }, body: { ok: true, result: 1 } });
    assert.deepEqual((await answer).body, { req_id: id, ok: true, result: 1 });
    host.leave();
  });

  test('a daemon of a version before is refused what it would not understand, and is not sent what waits', async () => {
    const id = await given();
    const host = await openHost(gateway, account, deviceId);
    const { status, body } = await give({ if_offline: 'refuse' });
    assert.deepEqual([status, body.error.code], [409, 'host_outdated']);
    assert.match(body.error.message, /update it/);
    const call = ask('POST', `/v1/hosts/${deviceId}/exec`, { op: 'info' });
    const { data } = await host.next();
    assert.equal(data['op'], 'info');
    await report(String(data['req_id']), { ok: true });
    await call;
    assert.equal(await stateOf(id), 'waiting');
    host.leave();
  });

  test('what waited is sent with its frame, started once, written and reported; each step is a change of topic hosts', async () => {
    const { cursor } = (await ask('GET', '/v1/events?topics=hosts')).body;
    const id = await given({ args: { command: 'secret words' }, extra: 1, expires_in_s: 600 });
    const host = await present(second);
    const { event, data } = await host.next();
    const { deadline, ...frame } = data;
    assert.equal(event, 'exec');
    assert.equal(deadline, Date.parse((await get(id)).expires_at));
    assert.deepEqual(frame, {
      req_id: id,
      op: 'shell',
      args: { command: 'secret words' },
      timeout_ms: 30_000,
      extra: 1,
      detached: true,
    });
    assert.equal(await stateOf(id), 'sent');
    assert.deepEqual((await start(id)).body, { state: 'running' });
    assert.deepEqual((await start(id)).body, { state: 'running' });
    const piece = (offset: number, raw: string) =>
      http(second.url, `/v1/hosts/exec/${id}/output?offset=${offset}`, {
        method: 'POST',
        key: account.key,
        headers: { 'x-svc-device': deviceId, 'content-type': 'application/octet-stream' },
        raw,
      });
    assert.deepEqual((await piece(0, 'one')).body, { bytes: 3, full: false });
    assert.deepEqual((await piece(1, 'ne two')).body, { bytes: 7, full: false });
    assert.deepEqual((await piece(99, 'late')).body, { bytes: 7, full: false });
    assert.equal((await ask('GET', `/v1/hosts/exec/${id}/output?from=2`)).body, 'e two');
    const result = { exit_code: 3, timed_out: false, truncated: true };
    assert.deepEqual((await report(id, { ok: true, result })).body, { ok: true });
    assert.deepEqual((await report(id, { ok: false, error: 'late' })).body, { ok: true });
    const done = await get(id);
    assert.deepEqual(
      [done.state, done.ok, done.exit_code, done.truncated, done.output_bytes, done.result],
      ['done', true, 3, true, 7, result],
    );
    const { events } = await changesOf(gateway.url, account.key, `?topics=hosts&after=${cursor}`, 4);
    const states = events.flatMap((change: { id: string; op: string; record: { state: string } }) =>
      change.id === id ? [`${change.op} ${change.record.state}`] : [],
    );
    assert.deepEqual(states, ['created waiting', 'updated sent', 'updated running', 'updated done']);
    assert.ok(!JSON.stringify(events).includes('secret words'));
    host.leave();
  });

  test('nothing that waits can be read in the database, and nothing of it stands in the audit log', async () => {
    const id = await given({ args: { command: 'secret words' } });
    const [row] = await gateway.kernel.sql`select row_to_json(e)::text as text from hosts.execs e where id = ${id}`;
    assert.ok(!Buffer.from(String(row?.['text'])).includes('secret'));
    const acts = (await ask('GET', '/v1/audit')).body;
    assert.ok(JSON.stringify(acts).includes(id) && !JSON.stringify(acts).includes('secret'));
    await ask('DELETE', `/v1/hosts/exec/${id}`);
    const [after] = await gateway.kernel.sql`select frame from hosts.execs where id = ${id}`;
    assert.equal(after?.['frame'], null);
    assert.ok(JSON.stringify((await ask('GET', '/v1/audit')).body).includes('hosts.exec.cancel'));
  });

  test('each new stream of a host is told again of what is not over, wherever it is and whatever was lost', async () => {
    const id = await given();
    const first = await present();
    assert.equal((await first.next()).data['req_id'], id);
    const other = await present(second);
    assert.equal((await other.next()).data['req_id'], id);
    assert.equal((await start(id)).status, 200);
    await using third = await startGateway(database, { clock });
    const host = await present(third);
    const { data } = await host.next();
    // What it is to do is forgotten: a host that has lost it too asks with another token.
    assert.deepEqual([data['req_id'], data['args'], data['detached']], [id, {}, true]);
    const { status, body } = await start(id, 'another token of this test');
    assert.deepEqual([status, body.error.code], [409, 'exec_taken']);
    const { state, error } = await get(id);
    assert.deepEqual([state, error], ['unknown', 'journal_lost']);
    host.leave();
  });

  test('20 commands come in their order, 16 that are not over at once, through two gateways', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) {
      const at = clientOf([gateway, second][n % 2] as typeof gateway, account.key);
      const body = { op: 'shell', if_offline: 'wait' as const, args: { n } };
      ids.push((await at.hosts.exec({ params: { device_id: deviceId }, body })).req_id);
    }
    const host = await present(second);
    const came: unknown[] = [];
    for (let n = 0; n < 16; n += 1) came.push((await host.next()).data['req_id']);
    assert.deepEqual(came, ids.slice(0, 16));
    assert.equal(await stateOf(ids[16] as string), 'waiting');
    for (const [n, id] of ids.entries()) {
      if (n >= 16) assert.equal((await host.next()).data['req_id'], id);
      if (n < 4) {
        assert.equal((await start(id)).status, 200);
        await report(id, { ok: true });
      }
    }
    host.leave();
  });

  test('of many starts at once, through two gateways, one token is let through', async () => {
    const host = await present();
    const id = await given();
    await host.next();
    const tokens = Array.from({ length: 12 }, () => randomUUID() as string);
    const statuses = await Promise.all(
      tokens.map(async (text, n) => {
        const client = clientOf([gateway, second][n % 2] as typeof gateway, account.key, deviceId);
        const call = client.hosts.startExec({ params: { req_id: id }, body: { token: text } });
        return call.then(
          () => 'started',
          (error: { code: string }) => error.code,
        );
      }),
    );
    assert.equal(statuses.filter((code) => code === 'started').length, 1);
    assert.equal(await stateOf(id), 'unknown');
    host.leave();
  });

  test('of two requests with one Idempotency-Key one command is made', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const first = await give({}, account.key, headers);
    const again = await give({}, account.key, headers);
    assert.deepEqual([again.status, again.body], [202, first.body]);
    assert.equal((await ask('GET', '/v1/hosts/exec')).body.execs.length, 1);
  });

  test('a cancel keeps what has not started from starting, and has the host end what runs', async () => {
    const waiting = await given();
    const cancelled = (await ask('DELETE', `/v1/hosts/exec/${waiting}`)).body;
    assert.deepEqual([cancelled.state, cancelled.error], ['cancelled', 'cancelled']);
    const host = await present();
    const sent = await given();
    assert.equal((await host.next()).data['req_id'], sent);
    assert.equal((await ask('DELETE', `/v1/hosts/exec/${sent}`)).body.state, 'cancelled');
    assert.deepEqual(await host.next(), { event: 'exec_cancel', data: { req_id: sent } });
    const refused = await start(sent);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'exec_over']);
    const runs = await given();
    await host.next();
    await start(runs);
    const asked = (await ask('DELETE', `/v1/hosts/exec/${runs}`)).body;
    assert.equal(asked.state, 'running');
    assert.ok(asked.cancel_asked_at);
    assert.deepEqual(await host.next(), { event: 'exec_cancel', data: { req_id: runs } });
    await report(runs, { ok: false, error: 'cancelled' });
    assert.equal(await stateOf(runs), 'cancelled');
    assert.equal((await ask('DELETE', `/v1/hosts/exec/${runs}`)).body.state, 'cancelled');
    host.leave();
  });

  test('a cancel that crosses the result changes nothing: it is done', async () => {
    const { id, host } = await started();
    await ask('DELETE', `/v1/hosts/exec/${id}`);
    await report(id, { ok: true, result: { exit_code: 0 } });
    const { state, ok, exit_code } = await get(id);
    assert.deepEqual([state, ok, exit_code], ['done', true, 0]);
    host.leave();
  });

  test('a host that cannot know how it ended says so, and one that refuses says why without having started', async () => {
    const { id, host } = await started();
    await report(id, { ok: false, error: 'host_restarted', unknown: true });
    const { state, error, ok } = await get(id);
    assert.deepEqual([state, error, ok], ['unknown', 'host_restarted', undefined]);
    const refused = await given();
    await host.next();
    await report(refused, { ok: true, result: 'not started' });
    assert.equal(await stateOf(refused), 'sent');
    await report(refused, { ok: false, error: 'refused_by_policy' });
    assert.deepEqual([(await get(refused)).state, (await get(refused)).error], ['done', 'refused_by_policy']);
    host.leave();
  });

  test('what has not started in time never does, whether it was sent or not', async () => {
    const ids = [await given({ expires_in_s: 60 })];
    const host = await present();
    await host.next();
    host.leave();
    await host.ended;
    deviceId = randomUUID();
    await clientOf(gateway, account.key, deviceId).devices.list();
    ids.push(await given({ expires_in_s: 60 }));
    clock.advance(60_000);
    for (const id of ids) await turning(async () => (await stateOf(id)) === 'expired');
    assert.equal((await start(ids[1] as string)).status, 409);
  });

  test('when its key is revoked, what waits is cancelled and what runs is asked to end, and the account hears why', async () => {
    const { id: keyId, key } = await keyOf({ scopes: ['hosts:exec'] });
    const { id: runs, host } = await started({}, key);
    const other = randomUUID();
    await clientOf(gateway, account.key, other).devices.list();
    const { body } = await by(key, 'POST', `/v1/hosts/${other}/exec`, { op: 'info', if_offline: 'wait' });
    await ask('DELETE', `/v1/keys/${keyId}`);
    await turning(async () => (await stateOf(body.req_id)) === 'cancelled');
    assert.match((await get(body.req_id)).error, /revoked, paused or expired/);
    assert.deepEqual(await host.next(), { event: 'exec_cancel', data: { req_id: runs } });
    await report(runs, { ok: false, error: 'cancelled' });
    const ended = await get(runs);
    assert.equal(ended.state, 'cancelled');
    assert.match(ended.error, /revoked, paused or expired/);
    assert.deepEqual(new Set(await told()), new Set([body.req_id, runs]));
    host.leave();
  });

  test('a key that lost its scope starts nothing, and one that ends bounds how long its commands wait', async () => {
    const end = new Date(clock.now() + 3_600_000).toISOString();
    const { id: keyId, key } = await keyOf({ scopes: ['hosts:exec'], expires_at: end });
    const id = await given({}, key);
    assert.equal((await get(id)).expires_at, end);
    const host = await present();
    await host.next();
    await ask('PATCH', `/v1/keys/${keyId}`, { scopes: ['devices'] });
    assert.equal((await start(id)).body.error.code, 'exec_over');
    const { state, error } = await get(id);
    assert.equal(state, 'cancelled');
    assert.match(error, /lacks the scope/);
    host.leave();
  });

  test('the commands of a suspended account do not start, and end where they run', async () => {
    const { id: runs, host } = await started();
    const waits = await given();
    await host.next();
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    const row = async (id: string) =>
      (
        await sql<{ state: string; error: string | null; cancel_asked_at: string | null }[]>`
        select state, error, cancel_asked_at from hosts.execs where id = ${id}`
      )[0];
    await turning(async () => (await row(waits))?.state === 'cancelled');
    assert.match((await row(waits))?.error ?? '', /suspended/);
    await until(async () => (await row(runs))?.cancel_asked_at !== null);
    host.leave();
  });

  test('a device that is deleted leaves nothing that could start on the next one of its id', async () => {
    const { id: runs, host } = await started();
    host.leave();
    await host.ended;
    const ids = [await given(), await given()];
    await ask('DELETE', `/v1/devices/${deviceId}`);
    assert.deepEqual([(await get(runs)).state, (await get(runs)).error], ['unknown', 'device_removed']);
    const next = await present();
    const fresh = await given();
    assert.equal((await next.next()).data['req_id'], fresh);
    for (const id of ids) await turning(async () => (await stateOf(id)) === 'cancelled');
    assert.equal((await get(ids[0] as string)).error, 'device_removed');
    next.leave();
  });

  test('a key with hosts:exec sees and cancels what it gave, one with hosts all of the account; others find nothing', async () => {
    const own = await keyOf({ scopes: ['hosts:exec'] });
    const whole = await keyOf({ scopes: ['hosts'] });
    const reader = await keyOf({ scopes: ['hosts:read'] });
    const stranger = await createAccount(gateway);
    const mine = await given({}, own.key);
    clock.advance(1_000);
    const theirs = await given();
    const sees = async (key: string, id: string) =>
      (await Promise.all(['', '/output'].map((more) => by(key, 'GET', `/v1/hosts/exec/${id}${more}`)))).map(
        ({ status }) => status,
      );
    assert.deepEqual(await sees(own.key, mine), [200, 200]);
    assert.deepEqual(await sees(own.key, theirs), [404, 404]);
    assert.deepEqual(await sees(reader.key, mine), [200, 200]);
    assert.deepEqual(await sees(stranger.key, mine), [404, 404]);
    const listed = async (key: string) =>
      (await by(key, 'GET', '/v1/hosts/exec')).body.execs.map(({ req_id }: { req_id: string }) => req_id);
    assert.deepEqual([await listed(own.key), await listed(whole.key)], [[mine], [theirs, mine]]);
    const cancels = async (key: string, id: string) => (await by(key, 'DELETE', `/v1/hosts/exec/${id}`)).status;
    assert.deepEqual([await cancels(own.key, theirs), await cancels(reader.key, mine)], [404, 403]);
    assert.deepEqual([await cancels(own.key, mine), await cancels(whole.key, theirs)], [200, 200]);
    assert.equal(await cancels(stranger.key, theirs), 404);
  });

  test('a list comes page by page, newest first, of one device and of one state', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      clock.advance(1_000);
      ids.unshift(await given());
    }
    await ask('DELETE', `/v1/hosts/exec/${ids[0]}`);
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { execs, next_cursor } = (await ask('GET', `/v1/hosts/exec?limit=2${cursor}`)).body;
      seen.push(...execs.map(({ req_id }: { req_id: string }) => req_id));
      if (next_cursor === undefined) break;
      cursor = `&cursor=${next_cursor}`;
    }
    assert.deepEqual(seen, ids);
    const count = async (query: string) => (await ask('GET', `/v1/hosts/exec?${query}`)).body.execs.length;
    assert.equal(await count('state=waiting'), 4);
    assert.equal(await count(`device_id=${deviceId}&state=cancelled`), 1);
    assert.equal(await count(`device_id=${randomUUID()}`), 0);
  });

  test('an output is kept up to 10 MiB and followed to its end, in whole characters', async () => {
    const { id, host } = await started();
    const abort = new AbortController();
    const events = clientOf(second, account.key).hosts.execOutput.events(
      { params: { req_id: id } },
      { signal: abort.signal },
    );
    const first = events.next();
    const piece = (offset: number, body: Uint8Array) =>
      host.client.hosts.appendOutput({ params: { req_id: id }, query: { offset }, body });
    const text = Buffer.from('grün');
    await piece(0, text.subarray(0, 3));
    assert.deepEqual((await first).value, { event: 'chunk', data: { from: 0, to: 2, text: 'gr' } });
    await piece(3, text.subarray(3));
    assert.deepEqual((await events.next()).value, { event: 'chunk', data: { from: 2, to: 5, text: 'ün' } });
    const mib = Buffer.alloc(2 ** 20, 'a');
    for (let n = 0; n < 10; n += 1) assert.equal((await piece(5 + n * 2 ** 20, mib)).full, n === 9);
    await report(id, { ok: true });
    let bytes = 5;
    for await (const { event, data } of events) {
      if (event === 'chunk') bytes += data.text.length;
      else assert.deepEqual(data, { state: 'done', bytes: 10 * 2 ** 20 });
    }
    assert.deepEqual([bytes, (await get(id)).truncated], [10 * 2 ** 20, true]);
    assert.deepEqual(await told(), [], 'somebody followed it');
    host.leave();
  });

  test('a result of more than 1 MiB is not kept, and it is said', async () => {
    const { id, host } = await started();
    await report(id, { ok: true, result: 'x'.repeat(2 ** 20) });
    const { ok, result, error } = await get(id);
    assert.deepEqual([ok, result], [true, undefined]);
    assert.match(error, /^result_too_large/);
    assert.deepEqual(await told(), [id]);
    host.leave();
  });

  test('more output of a command that is over is refused; a repeat of what is here is not', async () => {
    const { id, host } = await started();
    const piece = (offset: number) =>
      fetch(`${gateway.url}/v1/hosts/exec/${id}/output?offset=${offset}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${account.key}`,
          'x-svc-device': deviceId,
          'content-type': 'application/octet-stream',
        },
        body: 'abcd',
      });
    assert.equal((await piece(0)).status, 200);
    await report(id, { ok: true });
    assert.deepEqual(await (await piece(0)).json(), { bytes: 4, full: false });
    const more = await piece(4);
    assert.deepEqual(
      [more.status, ((await more.json()) as { error: { code: string } }).error.code],
      [409, 'exec_over'],
    );
    host.leave();
  });

  test('who asked from a device with a stream open is not notified, whichever gateway and stream; once it is gone it is', async () => {
    const asking = randomUUID();
    const rows = () => gateway.kernel.sql`select 1 from kernel.device_streams where device_id = ${asking}`;
    const done = async (): Promise<string> => {
      const host = await present();
      const { body } = await give({ op: 'info' }, account.key, { 'x-svc-device': asking });
      await host.next();
      await start(body.req_id);
      await report(body.req_id, { ok: true });
      host.leave();
      return body.req_id;
    };
    const leave = new AbortController();
    // An answer that nothing holds is collected, and its stream ends with it.
    const streams = await Promise.all(
      ['/v1/events/stream', '/v1/prompts/stream'].map((path) =>
        fetch(`${second.url}${path}`, {
          headers: { authorization: `Bearer ${account.key}`, 'x-svc-device': asking },
          signal: leave.signal,
        }),
      ),
    );
    // Leases are renewed on the clock of this test.
    const live = () => gateway.kernel.sql`select 1 from kernel.gateways where lease_until > now()`;
    await turning(async () => (await live()).length === 2 && (await rows()).length > 0);
    // And held for as long as a busy machine may need, which turns no clock meanwhile.
    await gateway.kernel
      .sql`update kernel.gateways set lease_until = now() + interval '1 hour' where lease_until > now()`;
    await done();
    assert.deepEqual(await told(), []);
    assert.deepEqual(
      streams.map(({ status }) => status),
      [200, 200],
    );
    leave.abort();
    await until(async () => (await rows()).length === 0);
    const id = await done();
    assert.deepEqual(await told(), [id]);
  });

  test('commands and their bytes are a quota, and are forgotten after 30 days', async () => {
    const { sql } = gateway.kernel;
    const limit = (name: string, most: number) =>
      sql`insert into kernel.quotas (account_id, name, most) values (${account.id}, ${name}, ${most})`;
    await limit('execs', 2);
    const ids = [await given(), await given()];
    const refused = await give();
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'quota_exceeded']);
    await sql`update hosts.execs set created_at = ${new Date(clock.now() - 31 * day).toISOString()} where id = ${ids[0] as string}`;
    await gateway.app.jobs.find(({ name }) => name === 'hosts.sweepExecs')?.run(gateway.kernel);
    assert.equal((await ask('GET', `/v1/hosts/exec/${ids[0]}`)).status, 404);
    await limit('exec_bytes', 1_000);
    assert.equal((await give({ args: { text: 'x'.repeat(1_000) } })).body.error.code, 'quota_exceeded');
    assert.equal((await give()).status, 202);
  });
});
