import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../testing.ts';
import { createMachineUsers } from './users.ts';
import { linuxUsers, type SystemUser, type UserSystem } from './users.system.ts';

const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKeyOfATest ana';

/** A machine of a test with these users on it, and what was done to them. */
function fakeSystem(...names: string[]) {
  const users = new Map<string, SystemUser>();
  const done: string[] = [];
  let uid = 1_000;
  const add = (name: string, comment: string) => {
    uid += 1;
    users.set(name, { name, uid, gid: uid, comment, home: `/home/${name}`, shell: '/bin/sh' });
  };
  for (const name of names) add(name, '');
  const system: UserSystem = {
    find: (name) => Promise.resolve(users.get(name)),
    create: (name, comment) => Promise.resolve(void (add(name, comment), done.push(`create ${name}`))),
    lock: (name) => Promise.resolve(void done.push(`lock ${name}`)),
    unlock: (name) => Promise.resolve(void done.push(`unlock ${name}`)),
    writeKey: ({ name }, written) => Promise.resolve(void done.push(`key ${name} ${written === null ? '-' : '+'}`)),
  };
  return { users, add, system, done: () => done.splice(0) };
}

async function setUp(context: TestContext, ...names: string[]) {
  const fake = fakeSystem(...names);
  const stateDir = await temporaryDirectory(context);
  const said: string[] = [];
  const open = (system = fake.system) => createMachineUsers({ stateDir, system, log: (line) => void said.push(line) });
  return { ...fake, open, said };
}

const member = (name: string, ssh: string | null = key, id: string = randomUUID()) => ({
  linux_username: name,
  ssh_public_key: ssh,
  user_id: id,
});

test('members get users with their keys; one that is gone loses its key and is locked, and comes back as it was', async (context) => {
  const s = await setUp(context);
  const [environment, ana, ben] = [randomUUID(), member('ana'), member('ben', null)];
  const users = s.open();
  assert.deepEqual(await users.provision(environment, [ana, ben]), [ana.user_id, ben.user_id]);
  assert.deepEqual(s.done(), ['create ana', 'key ana +', 'create ben', 'key ben -']);
  assert.deepEqual(await users.names(environment), ['ana', 'ben']);
  assert.equal((await users.find(environment, 'ana'))?.name, 'ana');
  // Another process of the daemon knows what this one made.
  const later = s.open();
  assert.deepEqual(await later.provision(environment, [ben]), [ben.user_id]);
  assert.deepEqual(s.done(), ['lock ana', 'key ana -', 'key ben -']);
  assert.equal(await later.find(environment, 'ana'), undefined);
  assert.deepEqual(await later.provision(environment, [ana]), [ana.user_id]);
  assert.deepEqual(s.done(), ['lock ben', 'key ben -', 'unlock ana', 'key ana +']);
});

test('a user that the machine had before is never touched, nor one that somebody made in place of ours', async (context) => {
  const s = await setUp(context, 'ana');
  const [environment, ana, ben] = [randomUUID(), member('ana'), member('ben')];
  const users = s.open();
  assert.deepEqual(await users.provision(environment, [ana, ben]), [ben.user_id]);
  assert.match(s.said.join(), /the Linux user ana: was on this machine before, and is not touched/);
  assert.equal(await users.find(environment, 'ana'), undefined);
  s.done();
  s.users.delete('ben');
  s.add('ben', '');
  assert.equal(await users.find(environment, 'ben'), undefined);
  assert.deepEqual(await users.provision(environment, [ben]), []);
  assert.deepEqual(await users.provision(environment, []), []);
  assert.deepEqual(s.done(), []);
});

test("a name that was another member's, or is one of another environment, is given to nobody else", async (context) => {
  const s = await setUp(context);
  const environment = randomUUID();
  const users = s.open();
  await users.provision(environment, [member('ana')]);
  s.done();
  assert.deepEqual(await users.provision(randomUUID(), [member('ana')]), []);
  assert.deepEqual(await users.provision(environment, [member('ana')]), []);
  assert.deepEqual(s.done(), ['lock ana', 'key ana -']);
});

test('a daemon that was ended while it made a user takes it for its own', async (context) => {
  const s = await setUp(context);
  const [environment, ana] = [randomUUID(), member('ana')];
  const ended: UserSystem = {
    ...s.system,
    async create(name, comment) {
      await s.system.create(name, comment);
      throw new Error('ended');
    },
  };
  assert.deepEqual(await s.open(ended).provision(environment, [ana]), []);
  assert.deepEqual(await s.open().provision(environment, [ana]), [ana.user_id]);
  assert.deepEqual(s.done(), ['create ana', 'key ana +']);
});

test("on a real machine: the key is the user's and nobody else reads it, a link leads root nowhere, and locked is locked", async (context) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return context.skip('needs root on Linux');
  const name = `svc-test-${randomUUID().slice(0, 8)}`;
  const stateDir = await temporaryDirectory(context);
  const said: string[] = [];
  const users = createMachineUsers({ stateDir, system: linuxUsers, log: (line) => void said.push(line) });
  const [environment, one] = [randomUUID(), member(name)];
  context.after(() => execFileSync('userdel', ['-r', name], { stdio: 'ignore' }));
  assert.deepEqual(await users.provision(environment, [one]), [one.user_id], said.join());
  const user = await users.find(environment, name);
  assert.ok(user);
  const file = join(user.home, '.ssh/authorized_keys');
  assert.equal(readFileSync(file, 'utf8'), `${key}\n`);
  const { mode, uid } = statSync(file);
  assert.deepEqual([mode & 0o777, uid], [0o600, user.uid]);
  const secret = join(stateDir, 'secret');
  writeFileSync(secret, 'mine', { mode: 0o600 });
  unlinkSync(file);
  symlinkSync(secret, file);
  await users.provision(environment, [{ ...one, ssh_public_key: `${key} again` }]);
  assert.equal(readFileSync(secret, 'utf8'), 'mine');
  assert.equal(readFileSync(file, 'utf8'), `${key} again\n`);
  await users.provision(environment, []);
  assert.throws(() => statSync(file), { code: 'ENOENT' });
  const [, password = '', , , , , , expires] = execFileSync('getent', ['shadow', name]).toString().trim().split(':');
  assert.ok(password.startsWith('!') && expires === '1', 'locked and expired');
  assert.ok(statSync(user.home).isDirectory());
  assert.deepEqual(await users.provision(environment, [one]), [one.user_id]);
  const again = execFileSync('getent', ['shadow', name]).toString().trim().split(':');
  assert.deepEqual([again[1], again[7]], ['*', '']);
});
