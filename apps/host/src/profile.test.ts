import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  deviceOfProfile,
  type Profile,
  profileName,
  readProfile,
  removeProfile,
  sameUrl,
  writeProfile,
} from './profile.ts';
import { temporaryDirectory } from './testing.ts';

const profile: Profile = {
  url: 'http://127.0.0.1:8787',
  key: 'svc_EXAMPLE',
  key_id: 'k1',
  account: null,
  scopes: ['sessions'],
  device: randomUUID(),
};

test('a profile is a file that its owner alone reads, in a folder that its owner alone enters', async (context) => {
  const directory = join(await temporaryDirectory(context), 'svc');
  await mkdir(directory, { mode: 0o755 });
  await writeProfile(directory, 'work', profile);
  await writeProfile(directory, 'work', { ...profile, key_id: 'k2' });
  assert.deepEqual(readProfile(directory, 'work'), { ...profile, key_id: 'k2' });
  assert.equal((await stat(join(directory, 'work.json'))).mode & 0o777, 0o600);
  assert.equal((await stat(directory)).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(directory), ['work.json']);
  await removeProfile(directory, 'work');
  assert.equal(readProfile(directory, 'work'), undefined);
});

test('a profile that others can read is warned about, and one that is none is refused without its text', async (context) => {
  const directory = await temporaryDirectory(context);
  await writeProfile(directory, 'default', profile);
  await chmod(join(directory, 'default.json'), 0o644);
  const warnings: string[] = [];
  readProfile(directory, 'default', (line) => warnings.push(line));
  assert.match(warnings.join(), /other users can read .+default\.json: chmod 600 it/);
  for (const text of ['svc_SECRET', '{}', JSON.stringify({ ...profile, url: 'ftp://a', key: 'svc_SECRET' })]) {
    await writeFile(join(directory, 'other.json'), text);
    assert.throws(
      () => readProfile(directory, 'other'),
      ({ message }: Error) => /is no profile of svc login/.test(message) && !message.includes('SECRET'),
    );
  }
});

test('no profile has the name of a file of the daemon, or leads out of its folder', () => {
  assert.equal(profileName(undefined), 'default');
  assert.equal(profileName('work-2'), 'work-2');
  for (const name of ['host', 'device', 'secrets', 'approvals', '../x', 'a/b', 'Work', '.x', 'x'.repeat(41)])
    assert.throws(() => profileName(name), { name: 'CommandError' });
});

test('each profile has a device of its own, the same after the profile is gone', async (context) => {
  const directory = await temporaryDirectory(context);
  const [first, work] = [await deviceOfProfile(directory, 'default'), await deviceOfProfile(directory, 'work')];
  assert.notEqual(first, work);
  for (const id of [first, work])
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(await deviceOfProfile(directory, 'work'), work);
  assert.equal(await deviceOfProfile(directory, 'default'), first);
});

test('two addresses are one platform when protocol, host, port and path are the same', () => {
  assert.ok(sameUrl('https://A.example/', 'https://a.example:443'));
  assert.ok(
    sameUrl('http://127.0.0.1:8787', 'http://localhost:8787/') && sameUrl('http://[::1]:1', 'http://localhost:1'),
  );
  assert.ok(!sameUrl('http://127.0.0.1:8787', 'http://localhost:8788'));
  for (const other of ['http://a.example', 'https://a.example:8443', 'https://a.example/svc', 'https://b.example'])
    assert.ok(!sameUrl('https://a.example', other), other);
});
