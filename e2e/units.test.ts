import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { http, until } from '../apps/server/src/testing.ts';
import { freePort, fromSource, killAll, startPlatform, temporaryFolder } from './platform.ts';
import { ownSandboxes, withoutSandboxes as skip } from './sandboxes.ts';

const root = join(import.meta.dirname, '..');
const unit = readFileSync(join(root, 'deploy/systemd/svc-sandboxd.service'), 'utf8');
const valueOf = (name: string): string =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? assert.fail(`${name} is not in the unit`);

/** The node agent with the rights that its unit leaves it. */
function startNode(dir: string, socket: string) {
  const names = valueOf('CapabilityBoundingSet').split(' ');
  const bounds = ['-all', ...names.map((name) => `+${name.slice('CAP_'.length).toLowerCase()}`)].join(',');
  const rights = ['--no-new-privs', '--inh-caps=-all', `--bounding-set=${bounds}`];
  const words = [...rights, join(root, 'svc'), 'up', '--only', 'sandboxd', '--no-system-packages'];
  const { PATH = '', HOME = '' } = process.env;
  const env = {
    PATH,
    HOME,
    ...ownSandboxes,
    ...fromSource,
    SVC_DATA_DIR: dir,
    SVC_SANDBOXD_SOCKET: socket,
    SVC_LOG_LEVEL: 'warn',
  };
  return spawn('setpriv', words, { env, stdio: ['ignore', 'inherit', 'inherit'] });
}

describe('the sandbox node under its unit', { skip }, () => {
  test('runs sandboxes of both kinds, pauses and forks them, with few rights; its mounts are those of the machine', async () => {
    assert.equal(valueOf('NoNewPrivileges'), 'yes');
    for (const own of [
      'ProtectSystem',
      'ProtectHome',
      'PrivateTmp',
      'PrivateDevices',
      'ReadWritePaths',
      'PrivateMounts',
    ]) {
      assert.doesNotMatch(unit, new RegExp(`^${own}=`, 'm'), 'a restarted agent would mount its volume a second time');
    }
    for (const right of ['SYS_MODULE', 'SYS_RAWIO', 'SYS_TIME', 'SYS_BOOT', 'BPF', 'NET_RAW']) {
      assert.ok(!valueOf('CapabilityBoundingSet').includes(right), right);
    }
    await using folder = temporaryFolder();
    const socket = join(folder.path, 'node.sock');
    const node = startNode(folder.path, socket);
    const ended = once(node, 'exit');
    const platform = await startPlatform(join(folder.path, 'data'), await freePort(), { SVC_SANDBOXD_SOCKET: socket });
    const call = async (method: string, path: string, body?: unknown) =>
      (await http(platform.url, path, { method, key: platform.key, ...(body !== undefined && { body }) })).body;
    try {
      for (const backend of ['v1', 'v2']) {
        let box: { id: string; status?: string } = { id: '' };
        await until(async () => (box = await call('POST', '/v1/sandboxes', { backend })).status === 'running');
        const ran = await call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id -un; echo $((6*7)) | tee x' });
        assert.match(ran.stdout, /\n42\n$/, JSON.stringify(ran));
        assert.equal((await call('POST', `/v1/sandboxes/${box.id}/run_code`, { code: '6*7' })).result, '42');
        if (backend === 'v2') {
          assert.equal((await call('POST', `/v1/sandboxes/${box.id}/pause`)).status, 'paused');
          assert.equal((await call('POST', `/v1/sandboxes/${box.id}/resume`)).restored, true);
          const forked = await call('POST', `/v1/sandboxes/${box.id}/fork`, { count: 1 });
          assert.equal(forked.data[0].restored, true, JSON.stringify(forked));
          await call('DELETE', `/v1/sandboxes/${forked.data[0].id}`);
        }
        await call('DELETE', `/v1/sandboxes/${box.id}`);
      }
    } finally {
      await platform.end();
      node.kill('SIGTERM');
      await ended;
      killAll();
    }
  });
});
