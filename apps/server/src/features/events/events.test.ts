import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type change, topics } from '@svc/contract';
import type { z } from 'zod';
import { shared } from '../../testing.shared.ts';
import { changesOf, clientOf, createAccount, http, openTest, startGateway, until } from '../../testing.ts';
import { join } from '../environments/environments.testing.ts';
import { Frames } from '../sessions/sessions.testing.ts';

describe('events', () => {
  const { database, gateway, second } = shared(() => openTest({ gateways: 2 }));
  const events = async (key: string, query = '') => http(second.url, `/v1/events${query}`, { key });
  const told = (key: string, query: string, count: number) => changesOf(second.url, key, query, count);
  const titleOf = ({ topic, record }: z.output<typeof change>) =>
    topic === 'notifications' && record && 'title' in record ? record.title : undefined;
  const keep = (key: string, prompt: string) => http(gateway.url, '/v1/prompts', { key, body: { prompt } });
  const follow = (key: string, query: { topics?: string; after?: string } = {}, one = second) => {
    const abort = new AbortController();
    return new Frames(abort, clientOf(one, key).events.stream({ query }, { signal: abort.signal }));
  };

  test('a stream and the list tell the same changes in the same order, with records that the routes answer', async () => {
    const { key } = await createAccount(gateway);
    using frames = follow(key);
    const ready = await frames.find(({ event }) => event === 'ready');
    const { id } = (await keep(key, 'One')).body;
    await http(gateway.url, '/v1/notifications/test', { method: 'POST', key });
    await http(gateway.url, `/v1/prompts/${id}`, { method: 'DELETE', key });
    await frames.find(({ data }) => 'op' in data && data.op === 'deleted');
    const changes = frames.all.flatMap((frame) => (frame.event === 'change' ? [frame.data] : []));
    const list = await told(key, `?after=${ready.data.cursor}`, 3);
    assert.deepEqual([list.events, list.cursor, list.missed], [changes, changes.at(-1)?.cursor, false]);
    assert.deepEqual(
      changes.map((one) => [one.topic, one.op, one.topic === 'prompts' ? one.record?.prompt : titleOf(one)]),
      [
        ['prompts', 'created', 'One'],
        ['notifications', 'created', 'Test notification'],
        ['prompts', 'deleted', undefined],
      ],
    );
    const [inbox] = (await http(gateway.url, '/v1/notifications', { key })).body.notifications;
    assert.deepEqual(changes[1]?.record, inbox);
  });

  test('a cursor of one stream is good on every other, and each begins with what came since', async () => {
    const { key } = await createAccount(gateway);
    const { cursor } = (await events(key)).body;
    const { id } = (await keep(key, 'Go on')).body;
    const abort = new AbortController();
    const stream = clientOf(second, key).prompts.stream({ query: { after: cursor } }, { signal: abort.signal });
    using frames = new Frames(abort, stream);
    const prompt = await frames.find(({ event }) => event === 'prompt');
    assert.deepEqual(frames.all[0], { event: 'ready', data: { cursor, missed: false } });
    const after = (await events(key, `?after=${prompt.data.cursor}`)).body;
    assert.deepEqual(after, { events: [], cursor: prompt.data.cursor, missed: false });
    for (const path of ['notifications', 'schedules', 'heartbeats', 'sandboxes', 'events']) {
      using other = new Frames(new AbortController(), streamOf(path, key, prompt.data.cursor));
      const first = await other.find(() => true);
      assert.equal((first.data as { missed: boolean }).missed, false, path);
    }
    assert.equal((prompt.data as { prompt: { id: string } }).prompt.id, id);
  });
  const streamOf = (feature: string, key: string, after: string) => {
    const client = clientOf(second, key) as unknown as Record<
      string,
      { stream(input: object): AsyncGenerator<{ event: string; data: unknown }> }
    >;
    return (client[feature] as (typeof client)[string]).stream({ query: { after } });
  };

  test('a key is told of the topics that it may read; another topic is refused with the scope, an unknown one is 400', async () => {
    const { key } = await createAccount(gateway, { scopes: ['prompts:read', 'devices'] });
    using frames = follow(key);
    const ready = await frames.find(({ event }) => event === 'ready');
    assert.deepEqual((ready.data as { topics: string[] }).topics, ['prompts']);
    const refused = await events(key, '?topics=prompts,heartbeats');
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.match(refused.body.error.message, /"heartbeats" or "heartbeats:read"/);
    const unknown = await events(key, '?topics=prompts,dreams');
    assert.deepEqual([unknown.status, Object.keys(unknown.body.error.details.fieldErrors)], [400, ['topics.1']]);
    const none = await createAccount(gateway, { scopes: ['devices'] });
    assert.equal((await events(none.key)).status, 403);
    const commander = await createAccount(gateway, { scopes: ['hosts:exec', 'prompts'] });
    assert.equal((await events(commander.key, '?topics=hosts')).status, 403);
    const { key: all } = await createAccount(gateway);
    using everything = follow(all);
    const first = await everything.find(({ event }) => event === 'ready');
    assert.deepEqual((first.data as { topics: string[] }).topics.sort(), [...topics].sort());
  });

  test('what is asked wrongly is 400 and says which part of it', async () => {
    const { key } = await createAccount(gateway);
    const wrong: [string, string][] = [
      ['?after=x', 'after'],
      [`?after=${'A'.repeat(33)}`, 'after'],
      [`?after=${'A'.repeat(31)}=`, 'after'],
      ['?wait_s=61', 'wait_s'],
      ['?wait_s=-1', 'wait_s'],
      ['?limit=0', 'limit'],
      ['?limit=501', 'limit'],
    ];
    for (const [query, field] of wrong) {
      const { status, body } = await events(key, query);
      assert.deepEqual([status, Object.keys(body.error.details.fieldErrors)], [400, [field]], query);
    }
    const streamed = await http(second.url, '/v1/prompts/stream?after=x', { key });
    assert.equal(streamed.status, 400);
  });

  test('a cursor of another account tells nothing of it', async () => {
    const [mine, theirs] = [await createAccount(gateway), await createAccount(gateway)];
    const { cursor } = (await events(theirs.key)).body;
    await keep(theirs.key, 'Secret');
    const before = (await events(mine.key)).body.cursor;
    await keep(mine.key, 'Mine');
    const own = (await told(mine.key, `?after=${before}`, 1)).cursor;
    assert.deepEqual((await events(mine.key, `?after=${cursor}`)).body, { events: [], cursor: own, missed: true });
  });

  test('a request waits for a change, and a key that is revoked while it waits is told nothing', async () => {
    const { key } = await createAccount(gateway);
    const { cursor } = (await events(key)).body;
    const waiting = events(key, `?after=${cursor}&wait_s=60&topics=prompts`);
    await keep(key, 'Now');
    const { body } = await waiting;
    assert.equal(body.events[0].record.prompt, 'Now');
    const weak = await http(gateway.url, '/v1/keys', { key, body: { name: 'weak', scopes: ['prompts:read'] } });
    const late = events(weak.body.key, '?wait_s=60');
    await until(async () =>
      second.kernel.streams.credentials().some(({ credentialId }) => credentialId === weak.body.id),
    );
    await http(gateway.url, `/v1/keys/${weak.body.id}`, { key, method: 'DELETE' });
    assert.deepEqual((await late).body.events, []);
    assert.equal((await events(weak.body.key)).status, 401);
  });

  test('a gateway that shuts down answers who waits for a change', async () => {
    await using gone = await startGateway(database);
    const { key } = await createAccount(gone);
    const waiting = http(gone.url, '/v1/events?wait_s=60', { key });
    await until(() => gone.kernel.streams.credentials().length > 0);
    await gone.app.drain();
    assert.deepEqual((await waiting).body.events, []);
  });

  test('monitors: creation, change of status, deletion; pings that change no status are told once in ten seconds', async () => {
    const { key } = await createAccount(gateway);
    const { cursor } = (await events(key)).body;
    const made = await http(gateway.url, '/v1/heartbeats', { key, body: { name: 'Nightly', period_s: 3600 } });
    const { ping_url: url, id } = made.body;
    const { pathname } = new URL(url);
    for (const path of ['', '', '', '/fail', '/log', '']) await http(gateway.url, pathname + path);
    await http(gateway.url, `/v1/heartbeats/${id}`, { key, method: 'PATCH', body: { paused: true } });
    await http(gateway.url, `/v1/heartbeats/${id}`, { key, method: 'DELETE' });
    const changes = (await told(key, `?after=${cursor}&topics=heartbeats`, 6)).events;
    assert.deepEqual(
      changes.map(({ op, record }: { op: string; record?: { status: string } }) => [op, record?.status]),
      [
        ['created', 'new'],
        ['updated', 'up'],
        ['updated', 'down'],
        ['updated', 'up'],
        ['updated', 'paused'],
        ['deleted', undefined],
      ],
    );
    assert.ok(
      !JSON.stringify(changes).includes(pathname.split('/')[2] ?? randomUUID()),
      'the address of a ping is a secret',
    );
  });

  test('sessions: creation, title, the beginning and end of a turn, deletion', async () => {
    const { key } = await createAccount(gateway);
    const { cursor } = (await events(key)).body;
    const device = { 'x-svc-device': randomUUID() };
    const { id } = (await http(gateway.url, '/v1/sessions', { key, body: { title: 'A' } })).body;
    await http(gateway.url, `/v1/sessions/${id}`, { key, method: 'PATCH', body: { title: 'B' } });
    const turn = (type: string, expected: number) => ({
      expected_seq: expected,
      events: [{ type, turn_id: 't', text: 'x' }],
    });
    for (const [at, type] of ['turn_start', 'delta', 'turn_end'].entries())
      await http(gateway.url, `/v1/sessions/${id}/events`, { key, headers: device, body: turn(type, at) });
    await http(gateway.url, `/v1/sessions/${id}`, { key, method: 'DELETE' });
    const changes = (await told(key, `?after=${cursor}&topics=sessions`, 5)).events;
    assert.deepEqual(
      changes.map(({ op, record }: { op: string; record?: { title: string; seq: number } }) => [
        op,
        record?.title,
        record?.seq,
      ]),
      [
        ['created', 'A', 0],
        ['updated', 'B', 0],
        ['updated', 'B', 1],
        ['updated', 'B', 3],
        ['deleted', undefined, undefined],
      ],
    );
  });

  test('environments: every member is told of what happens to one, who leaves that it is gone', async () => {
    const [owner, member] = [await createAccount(gateway), await createAccount(gateway)];
    const { cursor } = (await events(owner.key)).body;
    const after = (await events(member.key)).body.cursor;
    const as = async (path: string, body?: object, method?: string) => {
      const answer = await http(gateway.url, path, {
        key: owner.key,
        ...(body && { body }),
        ...(method && { method }),
      });
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      return answer;
    };
    const { project } = (await as('/v1/projects', { name: 'Shop', isolation: 'shared_vm' })).body;
    const made = await as('/v1/environments', { project_id: project.id, provider: 'byo', name: 'Dev' });
    const { id } = made.body.environment;
    await join(gateway, id, { by: owner, account: member, role: 'viewer' });
    await as(`/v1/environments/${id}`, { name: 'Shared' }, 'PATCH');
    await as(`/v1/environments/${id}/members/${member.id}`, undefined, 'DELETE');
    await as(`/v1/environments/${id}/destroy`, { confirm: true });
    const wordsOf = ({ events: all }: { events: { op: string; record?: { name: string } }[] }) =>
      all.map(({ op, record }) => `${op} ${record?.name ?? '-'}`);
    assert.deepEqual(wordsOf(await told(owner.key, `?after=${cursor}&topics=environments`, 7)), [
      'created Dev',
      'updated Dev',
      'updated Dev',
      'updated Shared',
      'updated Shared',
      'updated Shared',
      'deleted -',
    ]);
    assert.deepEqual(wordsOf(await told(member.key, `?after=${after}&topics=environments`, 3)), [
      'created Dev',
      'updated Shared',
      'deleted -',
    ]);
  });
});
