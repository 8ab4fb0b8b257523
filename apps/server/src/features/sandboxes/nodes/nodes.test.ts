import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { openTest } from '../../../testing.ts';
import { shared } from '../../../testing.shared.ts';
import { Nodes } from './nodes.ts';
import { type Claim, countClones, forgetIncarnations, listClones, noteClone } from './clones.sql.ts';
import { listLostNodes, listMachinesElsewhere, listNodes, saveNode } from './nodes.sql.ts';

const machineOf = (name: string, boot = '') => ({ id: `id of ${name}${boot}`, name });

describe('nodes as the database has them', () => {
  const { gateway, account } = shared(() => openTest());
  const [a, b] = [randomUUID(), randomUUID()];
  const clock = testClock(Date.now());
  const save = async (id: string, machine: { id: string; name: string }, address = 'unix:/svc.sock') => {
    // Who was first is told by the time.
    clock.advance(1);
    const claim = { id, address, machine, works: true, incarnation: undefined, earlier: [], seenHere: undefined };
    return (await saveNode(gateway.kernel.sql, clock, claim))?.refusedFor;
  };
  const expected = async () =>
    (await listNodes(gateway.kernel.sql, clock)).filter((row) => row.expected).map(({ id }) => id);
  const miss = async (id: string) => {
    await gateway.kernel.sql`update sandboxes.nodes set missing_since = now() - interval '5 minutes' where id = ${id}`;
    return (await listLostNodes(gateway.kernel.sql, 0)).map((row) => row.id);
  };
  const pause = (id: string) => gateway.kernel.sql`
    insert into sandboxes.sandboxes (id, account_id, key_id, node_id, state, backend, template, egress, metadata,
      created_at, expires_at)
    values (${randomUUID()}, ${account.id}, ${account.keyId}, ${id}, 'paused', 'v2', 'python', '{}', '{}', now(), now())`;

  beforeEach(async () => {
    await gateway.kernel.sql`delete from sandboxes.sandboxes`;
    await gateway.kernel.sql`delete from sandboxes.nodes`;
  });

  test('a refused node that holds nothing is missed by nobody when it is taken away, one with sandboxes is', async () => {
    await save(a, machineOf('one'));
    assert.equal(await save(b, machineOf('two')), 'one');
    assert.deepEqual([await expected(), await miss(b)], [[a], []]);
    await pause(b);
    assert.deepEqual([(await expected()).length, await miss(b)], [2, [b]]);
  });

  test('a node that holds nothing is missed no more once another one was seen, whatever its address or machine', async () => {
    await save(a, machineOf('one'), 'unix:/before.sock');
    assert.deepEqual([await expected(), await miss(a)], [[a], [a]]);
    clock.advance(61_000);
    assert.equal(await save(b, machineOf('one', ' anew')), undefined);
    assert.deepEqual([await expected(), await miss(a)], [[b], []]);
    await pause(a);
    assert.deepEqual([(await expected()).length, await miss(a)], [2, [a]]);
  });

  test('nothing is missed on a machine that is set to have no node', async () => {
    const { machine } = gateway.kernel;
    await save(a, machine, 'unix:/gone.sock');
    const presence = async (sandboxdSocket: string) => {
      const kernel = { ...gateway.kernel, clock, config: { ...gateway.kernel.config, sandboxdSocket } };
      const nodes = new Nodes(kernel);
      await nodes.open();
      for (const ms of [0, 41_000]) {
        clock.advance(ms);
        await nodes.refresh();
      }
      return nodes.presence();
    };
    assert.deepEqual([await presence('/nowhere/svc.sock'), await presence('/gone.sock')], ['none', 'missing']);
    await miss(a);
    const { sql } = gateway.kernel;
    const lost = await Promise.all([machine.id, 'x'].map((without) => listLostNodes(sql, 0, without)));
    assert.deepEqual(
      lost.map((rows) => rows.length),
      [0, 1],
    );
  });

  test('a new node of a machine that was started anew has the place of an old one that holds nothing', async () => {
    await save(a, machineOf('one'));
    clock.advance(10_000);
    assert.equal(await save(b, machineOf('one', ' anew')), 'one', 'another machine of that name may live');
    clock.advance(6_000);
    assert.equal(await save(b, machineOf('one', ' anew')), undefined);
    await pause(a);
    assert.equal(await save(b, machineOf('one', ' anew')), 'one');
  });

  test('a minute without the database leaves the place with its node, and a minute without the node does not', async () => {
    await save(a, machineOf('one'));
    await save(b, machineOf('two'));
    clock.advance(120_000);
    assert.equal(await save(b, machineOf('two')), 'one', 'neither was seen');
    clock.advance(1_000);
    assert.equal(await save(a, machineOf('one')), undefined);
    assert.equal(await save(b, machineOf('two')), 'one');
    for (let ms = 0; ms < 60_000; ms += 5_000) {
      assert.equal(await save(b, machineOf('two')), 'one');
      clock.advance(5_000);
    }
    await save(b, machineOf('two'));
    clock.advance(5_000);
    assert.equal(await save(b, machineOf('two')), undefined);
    assert.equal(await save(a, machineOf('one')), 'two', 'the place is not taken back');
  });

  test('a node that answers here is not elsewhere, whichever container asked it last', async () => {
    await gateway.kernel.sql`
      insert into sandboxes.nodes (id, address, machine, machine_name) values (${a}, 'unix:/x', 'other', 'two')`;
    const { sql } = gateway.kernel;
    assert.deepEqual(
      [await listMachinesElsewhere(sql, 'own'), await listMachinesElsewhere(sql, 'own', a)],
      [['two'], []],
    );
  });

  test('each outage of a node elsewhere is counted from its own beginning', async () => {
    const nodes = new Nodes({ ...gateway.kernel, clock });
    await nodes.open();
    await save(a, machineOf('two'));
    clock.advance(16_000);
    await nodes.refresh();
    clock.advance(60_000);
    const [first] = await nodes.refresh();
    assert.deepEqual([first?.missingMs, nodes.presence()], [60_000, 'missing']);
    await save(a, machineOf('two'));
    await nodes.refresh();
    assert.equal(nodes.presence(), 'there');
    // As a pause of the whole platform leaves it.
    await gateway.kernel.sql`
      update sandboxes.nodes set seen_at = seen_at - interval '1 hour', missing_since = seen_at - interval '1 hour'`;
    const [second] = await nodes.refresh();
    assert.deepEqual([second?.missingMs, nodes.presence()], [0, undefined]);
    nodes.close();
  });

  test('a refused node counts for a day, so that one that comes and goes is told once', async () => {
    const nodes = new Nodes({ ...gateway.kernel, clock });
    await nodes.open();
    await save(a, machineOf('one'));
    await save(b, machineOf('two'));
    const counts = async (ms: number) => {
      clock.advance(ms);
      await nodes.refresh();
      return [nodes.counts()?.refused, nodes.counts()?.refusedOfDay];
    };
    assert.deepEqual(
      [await counts(0), await counts(60_000), await counts(86_400_000)],
      [
        [1, 1],
        [0, 1],
        [0, 0],
      ],
    );
    nodes.close();
  });
});

describe('two machines with one id of a node', () => {
  const { gateway, account } = shared(() => openTest());
  const id = randomUUID();
  const clock = testClock(Date.now());
  const processOf = (name: string, incarnation: string, earlier: string[] = []): Claim => ({
    id,
    address: 'unix:/svc.sock',
    machine: machineOf(name),
    incarnation,
    earlier,
    seenHere: undefined,
  });
  const isTaken = async (claim: Claim) =>
    (await saveNode(gateway.kernel.sql, clock, { ...claim, works: true })) !== undefined;
  const livesOn = async (claim: Claim) => (await noteClone(gateway.kernel.sql, clock, claim)).livesOn;
  const pause = () => gateway.kernel.sql`
    insert into sandboxes.sandboxes (id, account_id, key_id, node_id, state, backend, template, egress, metadata,
      created_at, expires_at)
    values (${randomUUID()}, ${account.id}, ${account.keyId}, ${id}, 'paused', 'v2', 'python', '{}', '{}', now(), now())`;

  beforeEach(async () => {
    await gateway.kernel.sql`delete from sandboxes.sandboxes`;
    await gateway.kernel.sql`delete from sandboxes.nodes`;
  });

  test('the one that lives goes on, and the other is refused and told for as long as it does', async () => {
    const [one, two] = [processOf('one', 'i1'), processOf('two', 'i2', ['image'])];
    assert.equal(await isTaken(one), true);
    for (let ms = 0; ms < 30_000; ms += 5_000) {
      assert.deepEqual([await isTaken(two), await livesOn(two)], [false, ms === 0 ? undefined : 'one']);
      clock.advance(5_000);
      assert.equal(await isTaken(one), true);
    }
    assert.deepEqual(await countClones(gateway.kernel.sql, clock), { now: 1, ofDay: 1 });
    assert.deepEqual([...(await listClones(gateway.kernel.sql, clock))], [{ id, machine: 'two', first: 'one' }]);
    // Neither was seen, as without the database: what waits at the first one is not given away.
    await pause();
    clock.advance(600_000);
    assert.equal(await isTaken(two), false);
    assert.equal(await isTaken(one), true);
    await gateway.kernel.sql`delete from sandboxes.sandboxes`;
    clock.advance(61_000);
    assert.equal(await isTaken(two), true, 'it holds nothing, and is gone');
  });

  test('a copy of a node that lives has its id never sooner, though its directory goes on with that of the other', async () => {
    const [one, two] = [processOf('one', 'i1'), processOf('two', 'i2', ['i1'])];
    await isTaken(one);
    await pause();
    assert.deepEqual([await isTaken(two), await livesOn(two)], [false, undefined]);
    clock.advance(5_000);
    await isTaken(one);
    const anew = processOf('two', 'i3', ['i1', 'i2']);
    assert.equal(await livesOn(anew), 'one');
    clock.advance(61_000);
    assert.equal(await isTaken(anew), false);
    clock.advance(86_400_000);
    assert.equal(await isTaken(anew), true, 'the other one was gone for a day');
  });

  test('gateways that tell of one copy at one instant, or of two of its processes, are told of the other one', async () => {
    const [one, two] = [processOf('one', 'i1'), processOf('two', 'i2')];
    const anew = processOf('two', 'i3', ['i2']);
    await isTaken(one);
    await Promise.all([two, two, two, two].map(livesOn));
    // By a gateway that knows nothing of the process before.
    await livesOn({ ...anew, earlier: [] });
    clock.advance(5_000);
    await isTaken(one);
    for (let n = 0; n < 2; n += 1) assert.equal(await livesOn(anew), 'one');
    assert.deepEqual(await countClones(gateway.kernel.sql, clock), { now: 1, ofDay: 1 });
  });

  test('a machine or a container that was started anew has its node again, with what waits there', async () => {
    await isTaken(processOf('one', 'i1'));
    await pause();
    assert.equal(await isTaken(processOf('one', 'i2')), true, 'the agent alone was started anew');
    const anew = processOf('one anew', 'i4', ['i1', 'i2', 'i3']);
    assert.deepEqual([await isTaken(anew), await livesOn(anew)], [false, undefined]);
    clock.advance(16_000);
    assert.equal(await isTaken(anew), true);
  });

  test('a node that containers share may be started anew, whichever of them saw it last', async () => {
    await isTaken(processOf('one', 'i1'));
    await isTaken(processOf('two', 'i1'));
    assert.equal(await isTaken({ ...processOf('one', 'i2', ['i1']), seenHere: 'i1' }), true);
  });

  test('a restored platform takes the node that comes, whose directory was made anew', async () => {
    await isTaken(processOf('one', 'i1'));
    await pause();
    await forgetIncarnations(gateway.kernel.sql);
    assert.equal(await isTaken(processOf('two', 'i2')), true);
  });
});
