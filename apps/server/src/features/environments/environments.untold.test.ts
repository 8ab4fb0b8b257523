import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { changesOf, createAccount, http, openTest, type TestAccount, until } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';
import { environmentOf, invite, join, projectOf } from './environments.testing.ts';

describe('what members of an environment cause in each other', () => {
  const clock = testClock();
  const { gateway } = shared(() => openTest({ clock }));
  const ask = async ({ key }: Pick<TestAccount, 'key'>, method: string, path: string, body?: object) =>
    http(gateway.url, path, { method, key, ...(body && { body }) });

  /** An environment of somebody who has used their budget but for `left` rows, with this many others. */
  async function spent(left: number, people = 1) {
    const owner = await createAccount(gateway);
    const id = await environmentOf(gateway, owner);
    const path = `/v1/environments/${id}`;
    const members = await Promise.all(Array.from({ length: people }, () => createAccount(gateway)));
    for (const account of members) await join(gateway, id, { by: owner, account, role: 'maintainer' });
    await gateway.kernel.sql`
      insert into kernel.budgets (name, subject, units, at, granted)
      values ('rows_in_others', ${owner.id}, ${left}, ${new Date(clock.now()).toISOString()}, true)
      on conflict (name, subject) do update set units = excluded.units, at = excluded.at`;
    const cursors = new Map<string, string>();
    for (const one of [owner, ...members]) cursors.set(one.id, (await ask(one, 'GET', '/v1/events')).body.cursor);
    const heard = async (one: TestAccount, count: number): Promise<string[]> =>
      (await changesOf(gateway.url, one.key, `?after=${cursors.get(one.id)}&topics=environments`, count)).events.map(
        ({ op, record }: { op: string; record?: { name: string } }) => `${op} ${record?.name ?? '-'}`,
      );
    const rename = async (name: string, by: TestAccount = owner) =>
      assert.equal((await ask(by, 'PATCH', path, { name })).status, 200);
    return { id, path, owner, members, first: members[0] as TestAccount, heard, rename };
  }

  test('past a budget one goes on as before, and others hear later, once, how it is then', async () => {
    const s = await spent(3);
    for (let n = 1; n <= 30; n += 1) await s.rename(`name ${n}`);
    assert.equal((await s.heard(s.owner, 30)).length, 30);
    assert.deepEqual(await s.heard(s.first, 3), ['updated name 1', 'updated name 2', 'updated name 3']);
    clock.advance(30_000);
    assert.deepEqual((await s.heard(s.first, 4)).slice(3), ['updated name 30']);
    // Nothing waits any more.
    clock.advance(30_000);
    await s.rename('last');
    assert.deepEqual((await s.heard(s.first, 5)).slice(3), ['updated name 30', 'updated last']);
  });

  test('a change for more people than a budget has rows goes out, and is owed; one of another member tells what waited', async () => {
    const s = await spent(2, 4);
    await s.rename('told');
    await s.rename('waits');
    for (const one of s.members) assert.deepEqual(await s.heard(one, 1), ['updated told']);
    await s.rename('of another', s.first);
    assert.deepEqual(await s.heard(s.owner, 3), ['updated told', 'updated waits', 'updated of another']);
    assert.deepEqual(await s.heard(s.members[1] as TestAccount, 2), ['updated told', 'updated of another']);
    assert.equal((await gateway.kernel.sql`select from environments.untold where environment_id = ${s.id}`).length, 0);
  });

  test('who comes, goes, or loses it hears of that at once, whatever is left', async () => {
    const s = await spent(-1_000, 2);
    const [gone, other] = s.members as [TestAccount, TestAccount];
    await s.rename('unheard');
    await ask(s.owner, 'DELETE', `${s.path}/members/${gone.id}`);
    assert.deepEqual(await s.heard(gone, 1), ['deleted -']);
    await ask(s.owner, 'POST', `${s.path}/destroy`);
    assert.deepEqual(await s.heard(other, 1), ['deleted -']);
    clock.advance(30_000);
    assert.deepEqual(await s.heard(other, 1), ['deleted -']);
  });

  test('a guest makes twenty environments a minute in a project of somebody else, and as many as before in their own', async () => {
    const [owner, guest] = [await createAccount(gateway), await createAccount(gateway)];
    const [theirs, own] = [await projectOf(gateway, owner), await projectOf(gateway, guest)];
    const first = await environmentOf(gateway, owner, theirs);
    await join(gateway, first, { by: owner, account: guest, role: 'viewer' });
    const { cursor } = (await ask(owner, 'GET', '/v1/events')).body;
    const make = (project_id: string) =>
      ask(guest, 'POST', '/v1/environments', { project_id, provider: 'byo', name: 'x' });
    for (let n = 0; n < 20; n += 1) {
      const { id } = (await make(theirs)).body.environment;
      assert.equal((await ask(guest, 'POST', `/v1/environments/${id}/destroy`)).status, 200);
    }
    const refused = await make(theirs);
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limit_exceeded']);
    assert.equal((await make(own)).status, 201);
    const { events } = await changesOf(gateway.url, owner.key, `?after=${cursor}&topics=environments`, 60);
    const count = (op: string) => events.filter((one: { op: string }) => one.op === op).length;
    assert.deepEqual([count('created'), count('deleted')], [20, 20]);
    clock.advance(3_100);
    assert.deepEqual([(await make(theirs)).status, (await make(theirs)).status], [201, 429]);
  });

  test('what waits for nobody any more is forgotten', async () => {
    const s = await spent(-1_000);
    await s.rename('unheard');
    await ask(s.owner, 'DELETE', `${s.path}/members/${s.first.id}`);
    const waits = async () =>
      (await gateway.kernel.sql`select from environments.untold where environment_id = ${s.id}`).length > 0;
    assert.equal(await waits(), true);
    clock.advance(30_000);
    await until(async () => !(await waits()));
  });

  test('however many invite somebody, twenty a day are told of, and all are on the page', async () => {
    const person = await createAccount(gateway);
    const told = async () => (await ask(person, 'GET', '/v1/notifications?limit=100')).body.notifications.length;
    const from = async () => {
      const by = await createAccount(gateway);
      await invite(gateway, { id: await environmentOf(gateway, by), by, email: person.email, role: 'viewer' });
    };
    for (let n = 0; n < 22; n += 1) await from();
    assert.equal(await told(), 20);
    const { invitations } = (await ask(person, 'GET', '/v1/environments/invitations')).body;
    assert.equal(invitations.length, 22);
    clock.advance(73 * 60_000);
    await from();
    assert.equal(await told(), 21);
  });
});
