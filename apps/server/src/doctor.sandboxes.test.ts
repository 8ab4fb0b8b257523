import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageStatus } from '@svc/sandboxd-api';
import { loadConfig } from './config.ts';
import { checksOfUser, sandboxes } from './doctor.sandboxes.ts';

const image = (state: ImageStatus['state'], template: ImageStatus['template'] = 'svc-base'): ImageStatus => ({
  template,
  state,
  progress: 0,
  step: 'not built yet',
});
const v1Only = { v1: { available: true }, v2: { available: false, reason: 'gVisor needs root' } };
const none = {
  v1: { available: false, reason: 'user namespaces are not allowed here' },
  v2: { available: false, reason: 'gVisor needs root' },
};
const unset = { imagesUrl: undefined, imagesKey: undefined };
const set = { imagesUrl: 'https://images.example.com/svc', imagesKey: `ed25519:${'A'.repeat(43)}` };

test('doctor tells an ordinary user that v1 runs, why v2 does not, and the command that fetches the missing image', () => {
  const [v1, v2, images] = checksOfUser(
    { backends: v1Only, images: [image('absent'), image('absent', 'desktop')] },
    unset,
  );
  assert.deepEqual(v1, { name: 'sandboxes v1', ok: true, found: 'runs' });
  assert.deepEqual(v2, { name: 'sandboxes v2', ok: true, found: 'does not run here: gVisor needs root' });
  const found = 'svc-base absent, desktop absent';
  const fix = './svc images fetch <address> --key <public key>';
  assert.deepEqual(images, { name: 'images', ok: false, found, fix });
});

test('the command of doctor is whole where settings name address and key, and is of the template that was wanted', () => {
  const fixOf = (images: ImageStatus[]) => checksOfUser({ backends: v1Only, images }, set).at(-1)?.fix;
  assert.equal(fixOf([image('absent')]), './svc images fetch');
  assert.equal(fixOf([image('ready')]), undefined);
  const failed = [image('ready'), image('failed', 'office-acte')];
  assert.equal(fixOf(failed), './svc images fetch --template office-acte');
});

test('where neither backend runs doctor says so, sends nobody to fetch an image, and names no step as one of this user', () => {
  const checks = checksOfUser({ backends: none, images: [image('absent')] }, set);
  assert.deepEqual(
    checks.map(({ ok, fix }) => [ok, fix]),
    [
      [false, 'nothing that this user can do: user namespaces are not allowed here'],
      [false, 'nothing that this user can do: gVisor needs root'],
      [true, undefined],
    ],
  );
});

test('where no node agent answers doctor names the setting that says where it should be', async () => {
  const socket = '/nowhere/sandboxd.sock';
  const [check] = await sandboxes(loadConfig({ SVC_SANDBOXD_SOCKET: socket }, {}), []);
  assert.equal(check?.found, 'no node agent answers');
  const onLinux = /^start the node agent at \/nowhere\/sandboxd\.sock .*SVC_SANDBOXD_SOCKET/;
  assert.match(check.fix ?? '', process.platform === 'linux' ? onLinux : /^sandboxes need Linux/);
});
