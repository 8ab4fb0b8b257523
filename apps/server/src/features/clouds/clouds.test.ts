import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { accountData } from '../../features.ts';
import { type AccountData, deleteData } from '../../kernel/deletion.ts';
import { createAccount, http } from '../../testing.ts';
import { join } from '../environments/environments.testing.ts';
import { checkDaemon, environmentsManifest, mintForMachine } from '../environments/index.ts';
import { openClouds, report } from './clouds.places.testing.ts';
import { cloudsManifest } from './index.ts';

const minute = 60_000;
const hour = 60 * minute;

describe('machines of environments at a provider', () => {
  test('one is made, enrols with a key of its own, runs, stops, starts and is taken away', async () => {
    await using c = await openClouds();
    const id = await c.make({ budget_micro_eur: 5_000_000 });
    const made = await c.see(id);
    assert.deepEqual(
      [made['state'], made['region'], made['size'], made['hourlyRateMicroEur'], made['metadata']],
      ['creating', 'nbg1', 'small', 30_000, { budget_micro_eur: 5_000_000 }],
    );
    await c.turn();
    const [machine] = c.fake.machines.values();
    assert.deepEqual([machine?.type, machine?.labels['svc-environment']], ['cx22', id]);
    assert.deepEqual((await c.see(id))['providerRef'], machine?.id);
    c.fake.settle();
    await c.turn(10_000);
    const device = randomUUID();
    const enrolled = await c.enrol(id, device);
    assert.match(enrolled.body.api_key, /^svc_/);
    assert.equal((await c.see(id))['state'], 'enrolling');
    // A repeat of the request to the provider does not free the token.
    await mintForMachine(
      c.t.gateway.kernel.sql,
      c.t.gateway.kernel,
      { ms: c.clock.now(), iso: new Date(c.clock.now()).toISOString() },
      { id, account_id: c.t.account.id },
      1,
    );
    // Its answer was lost: the key of before is worth nothing.
    const again = await c.enrol(id, device);
    assert.notEqual(again.body.api_key, enrolled.body.api_key);
    const whoami = async (key: string) => (await http(c.t.gateway.url, '/v1/keys', { key })).status;
    assert.deepEqual([await whoami(enrolled.body.api_key), await whoami(again.body.api_key)], [401, 403]);
    assert.equal((await c.enrol(id)).status, 401);
    await report(c.t, id);
    assert.deepEqual([(await c.see(id))['state'], (await c.see(id))['publicIp']], ['running', '192.0.2.7']);
    assert.equal((await c.enrol(id, device)).status, 401);

    assert.equal((await c.act(id, 'stop'))['to'], 'stopping');
    assert.equal((await c.see(id))['stateReason'], 'user_request');
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    assert.equal((await c.see(id))['state'], 'stopped');
    await c.act(id, 'start');
    await c.turn();
    assert.equal(machine?.status, 'starting');
    c.fake.settle();
    await c.turn(10_000);
    await report(c.t, id);
    assert.equal((await c.see(id))['state'], 'running');

    assert.equal((await c.act(id, 'destroy'))['to'], 'destroying');
    assert.equal(await whoami(again.body.api_key), 401);
    const project = `/v1/projects/${String(made['projectId'])}`;
    assert.equal((await c.ask('DELETE', project)).body.error.code, 'project_has_environments');
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    assert.deepEqual([(await c.see(id))['state'], c.fake.machines.size], ['destroyed', 0]);
    assert.equal((await c.ask('DELETE', project)).status, 200);
    assert.equal((await c.t.gateway.kernel.sql`select from clouds.machines`).length, 0);
    assert.equal(c.fake.count('POST /servers'), 1);
  });

  test('it goes on to serve for its next owner when who made it leaves the environment, and nobody else serves with that role', async () => {
    await using c = await openClouds();
    const id = await c.make();
    await c.turn();
    const device = randomUUID();
    c.fake.settle();
    await c.turn(10_000);
    await c.enrol(id, device);
    const path = `/v1/environments/${id}/members`;
    const other = await createAccount(c.t.gateway);
    await join(c.t.gateway, id, { by: c.t.account, account: other, role: 'owner' });
    assert.equal((await c.ask('DELETE', `${path}/${c.t.account.id}`)).status, 200);
    const serves = (accountId: string, deviceId: string) =>
      checkDaemon(c.t.gateway.kernel.sql, { accountId, environmentId: id, deviceId }).then(
        () => 'serves',
        ({ code }: { code: string }) => code,
      );
    const stranger = await createAccount(c.t.gateway);
    assert.deepEqual(
      [
        await serves(other.id, device),
        await serves(other.id, randomUUID()),
        await serves(stranger.id, device),
        await serves(c.t.account.id, device),
      ],
      ['serves', 'forbidden', 'not_found', 'not_found'],
    );
    await c.ask('POST', `/v1/environments/${id}/destroy`, undefined, other);
    assert.equal(await serves(other.id, device), 'not_found');
  });

  test('EC2 does the same for environments of its provider', async () => {
    await using c = await openClouds();
    const id = await c.make({ provider: 'managed_a', size: 'large' });
    const { region, hourlyRateMicroEur } = await c.see(id);
    assert.deepEqual([region, hourlyRateMicroEur], ['eu-east-1', 120_000]);
    await c.turn();
    assert.equal([...c.ec2.machines.values()][0]?.type, 't3.large');
    await c.run(id);
    assert.deepEqual([(await c.see(id))['state'], (await c.see(id))['publicIp']], ['running', '192.0.2.8']);
    await c.act(id, 'destroy');
    await c.turn();
    c.ec2.settle();
    await c.turn(10_000);
    assert.equal((await c.see(id))['state'], 'destroyed');
  });

  test('a provider or a region that is not set up is refused, and a machine that nobody asked for yet goes at once', async () => {
    await using c = await openClouds();
    const id = await c.make();
    assert.equal((await c.act(id, 'destroy'))['to'], 'destroyed');
    await c.turn();
    assert.equal(c.fake.count('POST /servers'), 0);
    const { projectId } = await c.see(id);
    const body = { project_id: projectId, provider: 'managed_b', name: 'x', region: 'moon' };
    const refused = await c.ask('POST', '/v1/environments', body);
    assert.deepEqual([refused.status, Object.keys(refused.body.error.details.fieldErrors)], [400, ['region']]);
  });

  test('an archived machine is deleted, and made anew with another token when it is started', async () => {
    await using c = await openClouds();
    const id = await c.make();
    await c.turn();
    await c.run(id);
    await c.act(id, 'archive');
    await c.turn();
    c.fake.settle();
    await c.turn(10_000);
    assert.deepEqual([c.fake.machines.size, (await c.see(id))['providerRef']], [0, null]);
    await c.act(id, 'start');
    await c.turn();
    assert.equal(c.fake.count('POST /servers'), 2);
    await c.run(id);
    assert.equal((await c.see(id))['state'], 'running');
  });

  test('an answer that was lost after the machine was made leads to one machine, also when its process died', async () => {
    await using c = await openClouds();
    c.fake.faults = [{ action: 'POST /servers', how: 'lose' }];
    const id = await c.make();
    await c.turn();
    assert.deepEqual([c.fake.machines.size, (await c.see(id))['providerRef']], [1, null]);
    // The process is gone with its lease.
    await c.t.gateway.kernel.sql`
      update clouds.machines set leased_by = gen_random_uuid(), leased_until = ${c.clock.instant()}::timestamptz + interval '150 s'`;
    c.clock.advance(100_000);
    assert.equal((await c.see(id))['providerRef'], null);
    await c.turn(60_000);
    assert.equal((await c.see(id))['providerRef'], [...c.fake.machines.keys()][0]);
    assert.equal(c.fake.count('POST /servers'), 1);
  });

  test('of two gateways that race each machine is made once', async () => {
    await using c = await openClouds({ gateways: 2 });
    const ids = await Promise.all(Array.from({ length: 5 }, () => c.make()));
    await c.turn();
    assert.deepEqual([c.fake.machines.size, c.fake.count('POST /servers')], [5, 5]);
    assert.deepEqual(
      new Set([...c.fake.machines.values()].map(({ labels }) => labels['svc-environment'])),
      new Set(ids),
    );
  });

  test('a provider that fails for an hour changes no state, and is asked again', async () => {
    await using c = await openClouds();
    const running = await c.make();
    await c.turn();
    await c.run(running);
    c.fake.faults = [{ status: 503, forGood: true }];
    const making = await c.make();
    await c.act(running, 'stop');
    for (let n = 0; n < 60; n += 1) await c.turn(minute);
    assert.deepEqual([(await c.see(making))['state'], (await c.see(running))['state']], ['creating', 'stopping']);
    const calls = c.fake.calls.length;
    assert.ok(calls < 1_000, `${calls} calls in an hour`);
    c.fake.faults = [];
    c.fake.isQuick = true;
    for (let n = 0; n < 3; n += 1) await c.turn(minute);
    assert.equal((await c.see(running))['state'], 'stopped');
    await c.run(making);
    assert.equal((await c.see(making))['state'], 'running');
  });

  test('one that asks to be left alone is asked for no machine until then, whoever’s it is', async () => {
    await using c = await openClouds();
    c.fake.faults = [{ status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after': '120' } }];
    await c.make();
    await c.turn();
    const ids = [await c.make(), await c.make({}, await createAccount(c.t.gateway))];
    for (let n = 0; n < 5; n += 1) await c.turn(20_000);
    assert.equal(c.fake.calls.length, 1);
    await c.turn(30_000);
    await c.turn(10_000);
    assert.equal(c.fake.machines.size, 1 + ids.length);
  });

  test('one that refuses for good makes the environment fail, in its words and without its token', async () => {
    await using c = await openClouds();
    c.fake.faults = [
      { action: 'POST /servers', status: 403, code: 'resource_limit_exceeded', message: `limit of ${c.fake.token}` },
    ];
    const id = await c.make();
    await c.turn();
    const { state, stateReason } = await c.see(id);
    assert.deepEqual([state, stateReason], ['failed', 'it answered 403: limit of ***']);
    assert.equal((await c.act(id, 'destroy'))['to'], 'destroying');
    await c.turn(6 * minute);
    assert.equal((await c.see(id))['state'], 'destroyed');
  });

  test('one without room is asked again for an hour; a token that is refused is the operator’s to mend', async () => {
    await using c = await openClouds();
    c.fake.faults = [{ action: 'POST /servers', status: 412, code: 'resource_unavailable', forGood: true }];
    const id = await c.make();
    await c.turn();
    await c.turn(30 * minute);
    assert.equal((await c.see(id))['state'], 'creating');
    await c.turn(31 * minute);
    assert.equal((await c.see(id))['state'], 'failed');
    c.fake.faults = [{ status: 401, code: 'unauthorized', forGood: true }];
    const other = await c.make();
    await c.turn();
    await c.turn(2 * hour);
    assert.equal((await c.see(other))['state'], 'creating');
  });

  test('a machine that does not enrol within 30 minutes fails and is deleted; one that ran is kept, switched off', async () => {
    await using c = await openClouds();
    const [never, ran] = [await c.make(), await c.make()];
    await c.turn();
    await c.run(ran);
    await c.act(ran, 'stop');
    c.fake.isQuick = true;
    await c.turn();
    await c.turn(10_000);
    await c.act(ran, 'start');
    for (let n = 0; n < 34; n += 1) await c.turn(minute);
    for (const id of [never, ran]) {
      const { state, stateReason } = await c.see(id);
      assert.deepEqual([state, /within 30 minutes/.test(String(stateReason))], ['failed', true]);
    }
    const left = [...c.fake.machines.values()].map(({ labels, status }) => [labels['svc-environment'], status]);
    assert.deepEqual(left, [[ran, 'off']]);
  });

  test('a machine that somebody deleted at the provider fails after five minutes; one switched off from inside is stopped', async () => {
    await using c = await openClouds();
    const [gone, off] = [await c.make(), await c.make()];
    await c.turn();
    await c.run(gone);
    await c.run(off);
    for (const [ref, machine] of c.fake.machines) {
      if (machine.labels['svc-environment'] === gone) c.fake.machines.delete(ref);
      else machine.status = 'off';
    }
    for (let n = 0; n < 12; n += 1) await c.turn(minute);
    assert.deepEqual([(await c.see(gone))['state'], (await c.see(off))['state']], ['failed', 'stopped']);
    assert.equal((await c.see(gone))['stateReason'], 'its machine is gone at the provider');
  });

  test('a machine that does not shut down is switched off after two minutes', async () => {
    await using c = await openClouds();
    const id = await c.make();
    await c.turn();
    await c.run(id);
    await c.act(id, 'stop');
    await c.turn();
    const [machine] = c.fake.machines.values();
    for (let n = 0; n < 14; n += 1) {
      assert.ok(machine);
      machine.status = 'running';
      await c.turn(10_000);
    }
    assert.ok(c.fake.count('POST /servers/ID/actions/shutdown') > 3);
    assert.ok(c.fake.count('POST /servers/ID/actions/poweroff') > 0);
  });

  test('machines of this installation that no environment has are deleted after ten minutes, others never', async () => {
    await using c = await openClouds();
    const id = await c.make();
    await c.turn();
    const [own] = c.fake.machines.values();
    const installation = own?.labels['svc-installation'] ?? '';
    const stray = (name: string, labels: Record<string, string>) => {
      const one = { id: name, name, type: 'cx22', status: 'running', labels, userData: '', once: '' };
      c.fake.machines.set(name, one);
    };
    stray('1', { 'svc-installation': installation, 'svc-environment': randomUUID() });
    stray('2', { 'svc-installation': installation, 'svc-environment': id });
    stray('3', { 'svc-installation': 'another', 'svc-environment': randomUUID() });
    const sweep = c.t.gateway.app.jobs.find(({ name }) => name === 'clouds.orphans');
    await sweep?.run(c.t.gateway.kernel);
    c.clock.advance(5 * minute);
    await sweep?.run(c.t.gateway.kernel);
    assert.equal(c.fake.count('DELETE /servers/ID'), 0);
    c.clock.advance(5 * minute);
    await sweep?.run(c.t.gateway.kernel);
    c.fake.settle();
    assert.deepEqual(new Set(c.fake.machines.keys()), new Set(['3', own?.id]));
  });

  test('with an account its machines go, also at a provider that is away for a while; those of another owner stay', async () => {
    await using c = await openClouds();
    const [own, passed] = [await c.make(), await c.make()];
    await c.turn();
    await c.run(own);
    const other = await createAccount(c.t.gateway);
    await join(c.t.gateway, passed, { by: c.t.account, account: other, role: 'owner' });
    c.fake.faults = [{ status: 503, forGood: true }];
    const left: Record<string, number>[] = [];
    const datas = [cloudsManifest, environmentsManifest].flatMap(({ data }) => data ?? []);
    assert.ok(accountData.indexOf(datas[0] as AccountData) < accountData.indexOf(datas[1] as AccountData));
    for (const data of datas) {
      const leaving = { accountId: c.t.account.id, email: undefined };
      left.push((await deleteData(c.t.gateway.kernel, data, leaving)).left);
    }
    assert.equal(Object.assign({}, ...left)['clouds.machines'], 1);
    await c.turn();
    await c.turn(20 * minute);
    assert.equal(c.fake.machines.size, 2);
    c.fake.faults = [];
    await c.turn(minute);
    c.fake.settle();
    await c.turn(minute);
    assert.deepEqual(
      [...c.fake.machines.values()].map(({ labels }) => labels['svc-environment']),
      [passed],
    );
  });

  test('an account whose machines are slow does not hold back another one, and sees none of its machines', async () => {
    await using c = await openClouds();
    const other = await createAccount(c.t.gateway);
    c.fake.faults = Array.from({ length: 40 }, () => ({ action: 'GET /servers', how: 'hang' as const }));
    for (let n = 0; n < 20; n += 1) await c.make();
    c.clock.advance(2_000);
    await c.fake.called();
    c.fake.faults = c.fake.faults.slice(0, 1);
    const id = await c.make({}, other);
    await c.turn(30_000);
    assert.equal((await c.ask('GET', `/v1/environments/${id}`)).status, 404);
    const { environment } = (await c.ask('GET', `/v1/environments/${id}`, undefined, other)).body;
    assert.notEqual(environment.providerRef, null);
  });
});
