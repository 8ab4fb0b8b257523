import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { environmentOf, join, projectOf } from './environments.testing.ts';

describe('environments', () => {
  const { gateway } = shared(() => openTest());
  const ask = async ({ key }: TestAccount, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  test('one of one’s own machine begins in pending, with nothing that only a provider’s machine has', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account, { name: 'Shop' });
    const answer = await ask(account, 'POST', '/v1/environments', { project_id: project, provider: 'byo', name: 'PC' });
    assert.equal(answer.status, 201);
    const { environment } = answer.body;
    assert.match(environment.slug, /^shop-[a-z2-9]{4}$/);
    const { state, region, size, providerRef, publicIp, hourlyRateMicroEur, idleTimeoutMinutes } = environment;
    assert.deepEqual(
      { state, region, size, providerRef, publicIp, hourlyRateMicroEur, idleTimeoutMinutes },
      {
        state: 'pending',
        region: null,
        size: null,
        providerRef: null,
        publicIp: null,
        hourlyRateMicroEur: null,
        idleTimeoutMinutes: 30,
      },
    );
    const one = (await ask(account, 'GET', `/v1/environments/${environment.id}`)).body;
    assert.deepEqual([one.environment, one.role, one.isolation, one.ports], [environment, 'owner', 'shared_vm', []]);
    assert.deepEqual(
      one.members.map((member: Record<string, unknown>) => [
        member['user_id'],
        member['role'],
        member['port_range_start'],
      ]),
      [[account.id, 'owner', 20_000]],
    );
    assert.deepEqual(
      one.events.map(({ kind, actorUserId, actorKind }: Record<string, unknown>) => [kind, actorUserId, actorKind]),
      [['created', account.id, 'user']],
    );
    assert.deepEqual((await ask(account, 'GET', '/v1/environments?for_user_id=me')).body.environments, []);
    const listed = (await ask(account, 'GET', `/v1/environments?project_id=${project}`)).body.environments;
    assert.deepEqual(listed, [environment]);
    const { project: _, environments } = (await ask(account, 'GET', `/v1/projects/${project}`)).body;
    assert.deepEqual(environments, [environment]);
  });

  test('bad input is a 400 that names its field', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account);
    const bad: [string, object][] = [
      ['name', { name: undefined }],
      ['name', { name: ' ' }],
      ['name', { name: 'x'.repeat(121) }],
      ['provider', { provider: 'local' }],
      ['provider', { provider: undefined }],
      ['project_id', { project_id: 'x' }],
      ['size', { size: 'small' }],
      ['region', { region: 'nbg1' }],
      ['budget_micro_eur', { budget_micro_eur: 5 }],
      ['budget_micro_eur', { provider: 'managed_b', budget_micro_eur: -1 }],
      ['size', { provider: 'managed_b', size: 'huge' }],
      ...[4, 1_441, 5.5, '30'].map((idle): [string, object] => [
        'idle_timeout_minutes',
        { idle_timeout_minutes: idle },
      ]),
      ...['ab', 'a'.repeat(41), 'Upper', '-ab', 'ab-'].map((slug): [string, object] => ['slug', { slug }]),
    ];
    for (const [field, fields] of bad) {
      const body = { project_id: project, provider: 'byo', name: 'x', ...fields };
      const answer = await ask(account, 'POST', '/v1/environments', body);
      assert.equal(answer.status, 400, JSON.stringify(fields));
      assert.ok(answer.body.error.details.fieldErrors[field], JSON.stringify(answer.body));
    }
    for (const query of ['for_user_id=you', `for_user_id=${account.id}`, 'project_id=x', 'limit=0']) {
      assert.equal((await ask(account, 'GET', `/v1/environments?${query}`)).status, 400, query);
    }
    const id = await environmentOf(gateway, account, project);
    for (const body of [{}, { slug: 'other' }, { name: null }, { idle_timeout_minutes: 4 }]) {
      assert.equal((await ask(account, 'PATCH', `/v1/environments/${id}`, body)).status, 400, JSON.stringify(body));
    }
  });

  test('a slug is taken in the whole installation, by whomever', async () => {
    const [one, other] = [await createAccount(gateway), await createAccount(gateway)];
    const slug = `s-${randomUUID().slice(0, 8)}`;
    const create = async (account: TestAccount) =>
      ask(account, 'POST', '/v1/environments', {
        project_id: await projectOf(gateway, account),
        provider: 'byo',
        name: 'x',
        slug,
      });
    assert.equal((await create(one)).body.environment.slug, slug);
    const refused = await create(other);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'slug_taken']);
  });

  test('a slug that stands for the installation, or looks like an id, is taken', async () => {
    const account = await createAccount(gateway);
    const project_id = await projectOf(gateway, account);
    for (const slug of ['localhost', 'gateway', randomUUID()]) {
      const body = { project_id, provider: 'byo', name: 'x', slug };
      const refused = await ask(account, 'POST', '/v1/environments', body);
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'slug_taken'], slug);
    }
  });

  test('a project that is not seen is a 404, and a provider that nobody set up a 403', async () => {
    const [account, stranger] = [await createAccount(gateway), await createAccount(gateway)];
    const project = await projectOf(gateway, account);
    const body = { project_id: project, provider: 'byo', name: 'x' };
    assert.equal((await ask(stranger, 'POST', '/v1/environments', body)).status, 404);
    assert.equal((await ask(account, 'POST', '/v1/environments', { ...body, project_id: randomUUID() })).status, 404);
    const managed = await ask(account, 'POST', '/v1/environments', { ...body, provider: 'managed_b' });
    assert.deepEqual([managed.status, managed.body.error.code], [403, 'forbidden']);
  });

  test('where each developer has a machine alone, a second live one is a 409 that names the first, also at the same moment', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account, { name: 'Solo', isolation: 'vm_per_dev' });
    const create = () => ask(account, 'POST', '/v1/environments', { project_id: project, provider: 'byo' });
    const answers = await Promise.all([create(), create(), create()]);
    const [made] = answers.filter(({ status }) => status === 201);
    const { environment } = made?.body ?? assert.fail('none was made');
    for (const answer of answers.filter((one) => one !== made)) {
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'already_has_env']);
      assert.equal(answer.body.environment_id, environment.id);
    }
    assert.deepEqual(
      [environment.name, environment.forUserId, environment.for_user_id, environment.isolation],
      [`Solo — ${account.email.split('@')[0]}`, account.id, account.id, 'vm_per_dev'],
    );
    assert.deepEqual((await ask(account, 'GET', '/v1/environments?for_user_id=me')).body.environments, [environment]);
    const other = await createAccount(gateway);
    const path = `/v1/environments/${environment.id}/members`;
    const single = await ask(account, 'POST', path, { email: other.email, role: 'viewer' });
    assert.deepEqual([single.status, single.body.error.code], [409, 'vm_per_dev_single_member']);
    await ask(account, 'POST', `/v1/environments/${environment.id}/archive`);
    assert.equal((await create()).status, 201);
  });

  test('every action that a state does not allow is a 409 and changes nothing', async () => {
    const account = await createAccount(gateway);
    const id = await environmentOf(gateway, account);
    const path = `/v1/environments/${id}`;
    const act = (action: string) => ask(account, 'POST', `${path}/${action}`);
    const refused = async (...actions: string[]) => {
      const before = (await ask(account, 'GET', path)).body;
      for (const action of actions) {
        const answer = await act(action);
        assert.deepEqual([answer.status, answer.body.error.code], [409, 'invalid_transition'], action);
      }
      assert.deepEqual((await ask(account, 'GET', path)).body, before);
    };
    await refused('start', 'stop');
    const archived = (await act('archive')).body;
    assert.deepEqual([archived.from, archived.to, archived.environment.state], ['pending', 'archived', 'archived']);
    await refused('start', 'stop', 'archive');
    const destroyed = (await act('destroy')).body;
    assert.deepEqual(
      [destroyed.from, destroyed.to, destroyed.environment.state],
      ['archived', 'destroyed', 'destroyed'],
    );
    await refused('start', 'stop', 'archive', 'destroy');
    const kinds = (await ask(account, 'GET', path)).body.events.map(({ kind }: { kind: string }) => kind);
    assert.deepEqual(kinds, [
      'state:destroying->destroyed',
      'state:archived->destroying',
      'state:pending->archived',
      'created',
    ]);
    assert.deepEqual((await ask(account, 'GET', '/v1/environments')).body.environments, []);
    for (const [method, end, body] of [
      ['PATCH', '', { name: 'x' }],
      ['PUT', '/ports/80', { visibility: 'owner' }],
      ['PUT', '/secrets/A', { value: 'x' }],
      ['POST', '/members', { email: account.email, role: 'viewer' }],
    ] as const) {
      assert.equal((await ask(account, method, path + end, body)).body.error.code, 'invalid_transition', end);
    }
    assert.equal((await act('enroll-token')).body.error.code, 'not_enrollable');
  });

  test('events come in pages, newest first, and each change wrote one', async () => {
    const account = await createAccount(gateway);
    const path = `/v1/environments/${await environmentOf(gateway, account)}`;
    for (let n = 0; n < 24; n += 1) await ask(account, 'PATCH', path, { name: `name ${n}` });
    const { events } = (await ask(account, 'GET', path)).body;
    assert.equal(events.length, 20);
    const all = [];
    for (let query = '?limit=10'; query !== ''; ) {
      const { events: page, next_cursor: next } = (await ask(account, 'GET', `${path}/events${query}`)).body;
      all.push(...page);
      query = next === undefined ? '' : `?limit=10&cursor=${next}`;
    }
    assert.equal(all.length, 25);
    assert.deepEqual(all.slice(0, 20), events);
    assert.equal(all.at(-1).kind, 'created');
  });

  test('an account makes as many as it may', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account);
    await gateway.kernel
      .sql`insert into kernel.quotas (account_id, name, most) values (${account.id}, 'environments', 1)`;
    const id = await environmentOf(gateway, account, project);
    const body = { project_id: project, provider: 'byo', name: 'x' };
    assert.equal((await ask(account, 'POST', '/v1/environments', body)).body.error.code, 'quota_exceeded');
    await ask(account, 'POST', `/v1/environments/${id}/destroy`);
    assert.equal((await ask(account, 'POST', '/v1/environments', body)).status, 201);
  });

  test('what a member makes in the project of somebody else is that one’s too, who can take it away', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account);
    const member = await createAccount(gateway);
    const first = await environmentOf(gateway, account, project);
    await join(gateway, first, { by: account, account: { ...member, email: ` ${member.email} ` }, role: 'viewer' });
    const body = { project_id: project, provider: 'byo', name: 'Theirs' };
    const { id } = (await ask(member, 'POST', '/v1/environments', body)).body.environment;
    assert.equal((await ask(account, 'GET', `/v1/environments/${id}`)).body.role, 'owner');
    for (const each of [first, id])
      assert.equal((await ask(account, 'POST', `/v1/environments/${each}/destroy`)).status, 200);
    assert.equal((await ask(account, 'DELETE', `/v1/projects/${project}`)).status, 200);
  });

  test('one that comes back does not become the second of a developer', async () => {
    const account = await createAccount(gateway);
    const project = await projectOf(gateway, account, { isolation: 'vm_per_dev' });
    const make = async () =>
      (await ask(account, 'POST', '/v1/environments', { project_id: project, provider: 'byo' })).body;
    const first = (await make()).environment.id;
    assert.equal((await ask(account, 'POST', `/v1/environments/${first}/archive`)).status, 200);
    const second = (await make()).environment.id;
    const { token } = (await ask(account, 'POST', `/v1/environments/${first}/enroll-token`)).body;
    const machine = { token, device_id: crypto.randomUUID(), daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    const refused = await http(gateway.url, '/v1/environments/enroll', { method: 'POST', body: machine });
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.environment_id],
      [409, 'already_has_env', second],
    );
    await ask(account, 'POST', `/v1/environments/${second}/archive`);
    assert.equal((await http(gateway.url, '/v1/environments/enroll', { method: 'POST', body: machine })).status, 200);
  });

  test('a machine that enrols while the environment is destroyed, archived or gets another token meets no fault', async () => {
    const account = await createAccount(gateway);
    for (let round = 0; round < 8; round += 1) {
      const id = await environmentOf(gateway, account);
      const path = `/v1/environments/${id}`;
      const { token } = (await ask(account, 'POST', `${path}/enroll-token`)).body;
      const machine = { token, device_id: crypto.randomUUID(), daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
      const all = await Promise.all([
        http(gateway.url, '/v1/environments/enroll', { method: 'POST', body: machine }),
        ask(account, 'POST', `${path}/enroll-token`),
        ask(account, 'POST', `${path}/archive`),
        ask(account, 'POST', `${path}/destroy`),
      ]);
      assert.ok(
        all.every(({ status }) => status < 500),
        JSON.stringify(all.map(({ body }) => body)),
      );
    }
  });

  test('events have numbers as cursors, and nothing else', async () => {
    const account = await createAccount(gateway);
    const id = await environmentOf(gateway, account);
    for (const cursor of ['x', '1.5', '1e3', '99999999999999999999', ''])
      assert.equal((await http(gateway.url, `/v1/environments/${id}/events?cursor=${cursor}`, account)).status, 400);
  });
});
