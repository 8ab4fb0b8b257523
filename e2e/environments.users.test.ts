import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { join } from '../apps/server/src/features/environments/environments.testing.ts';
import { openSocket } from '../apps/server/src/features/relay/relay.testing.ts';
import { createAccount, until } from '../apps/server/src/testing.ts';
import { sharedMachine } from './environments.testing.ts';

const { usable } = sharedMachine();

/** Whether the machine has such a Linux user, and where its home is. */
function homeOf(name: string): string | undefined {
  try {
    return execFileSync('getent', ['passwd', name]).toString().split(':')[5];
  } catch {
    return undefined;
  }
}

test('a member gets a Linux user, its terminal runs as that, owns its tty and has nothing of the daemon', async (context) => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return context.skip('needs root on Linux');
  const s = await usable(context, { users: true });
  const made = new Set<string>();
  context.after(() => {
    for (const name of made) execFileSync('userdel', ['-rf', name], { stdio: 'ignore' });
  });
  // Names come from addresses, which are random here: no machine has a user of that name.
  const member = await createAccount(s.gateway);
  await join(s.gateway, s.id, { by: s.account, account: member, role: 'developer' });
  const of = async (): Promise<Record<string, unknown>> => {
    const { members } = (await s.call('GET', '/members')).body as { members: Record<string, unknown>[] };
    for (const one of members) made.add(String(one['linux_username']));
    return members.find((one) => one['user_id'] === member.id) ?? {};
  };
  const name = String((await of())['linux_username']);
  await until(async () => (await of())['provisioned_at'] !== null);
  assert.equal(homeOf(name), `/home/${name}`);
  const socket = await openSocket(`${s.url}/relay/v1/environments/${s.id}/attach?kind=terminal&cols=90&rows=30`, {
    authorization: `Bearer ${member.key}`,
  });
  let text = '';
  socket.on('message', (data, isBinary) => (text += isBinary ? (data as Buffer).toString() : ''));
  socket.send(
    Buffer.from('id -un; stat -c owner-%U "$(tty)"; pwd; stty size; env | grep -ci svc_; echo end-$((1+1)); exit\n'),
  );
  await once(socket, 'close');
  assert.match(
    text,
    new RegExp(`[\\r\\n]${name}\\r\\nowner-${name}\\r\\n/home/${name}\\r\\n30 90\\r\\n0\\r\\nend-2`),
    text,
  );
  assert.equal((await s.call('DELETE', `/members/${member.id}`)).status, 200);
  const isLocked = (one: string): boolean => execFileSync('getent', ['shadow', one]).toString().split(':')[7] === '1';
  await until(() => isLocked(name));
  assert.equal(homeOf(name), `/home/${name}`);
  const [owner = ''] = [...made].filter((one) => one !== name);
  assert.ok(!isLocked(owner));
  // The machine serves the environment no more: nobody has a user for it.
  await s.call('POST', '/archive');
  await until(() => isLocked(owner));
});
