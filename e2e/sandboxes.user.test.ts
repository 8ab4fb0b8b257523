import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, createReadStream, mkdirSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { enterableByAll, packageRoot } from '../apps/server/src/postgres/datadir.ts';
import { http } from '../apps/server/src/testing.ts';
import { testedProgram } from '../packages/programs/src/testing.ts';
import { freePort, killAll, type Platform, run, startPlatform, temporaryFolder } from './platform.ts';
import { smallImages, withoutSandboxes } from './sandboxes.ts';

const sandboxd = testedProgram(resolve(import.meta.dirname, '../apps/sandboxd/src/main.ts'));
const user = { uid: 65_534, gid: 65_534 };

/** Why an ordinary user cannot have sandboxes here, or false. */
function whyNot(): string | false {
  if (withoutSandboxes !== false) return withoutSandboxes;
  if (!enterableByAll(packageRoot)) return 'other users cannot enter this clone';
  const words = ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', 'true'];
  const { status } = spawnSync('bwrap', words, { ...user, stdio: 'ignore' });
  return status === 0 ? false : 'this kernel gives ordinary users no user namespaces';
}

/** `svc images …` on the images of the tests. */
const images = (...words: string[]): string =>
  execFileSync(process.execPath, [sandboxd, 'images', ...words], { encoding: 'utf8' }).trim();

describe('an ordinary user, without root', { skip: whyNot() }, () => {
  const folder = temporaryFolder();
  const [served, home, dataDir] = ['served', 'home', 'home/data'].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  // A plain server of files.
  const server = createServer((request, response) => {
    const path = join(served, request.url ?? '');
    const length = statSync(path, { throwIfNoEntry: false })?.size;
    if (length === undefined) return response.writeHead(404).end();
    response.writeHead(200, { 'content-length': length });
    return createReadStream(path).pipe(response);
  });
  let key: string;
  let settings: Record<string, string>;
  let platform: Platform;

  before(async () => {
    mkdirSync(served);
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, user.uid, user.gid);
    key = images('new-key', join(folder.path, 'key'));
    const here = ['--dir', smallImages(join(folder.path, 'images'))];
    images('export', 'svc-base', '--to-folder', served, '--sign-key', join(folder.path, 'key'), ...here);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    settings = {
      HOME: home,
      SVC_SANDBOX_WARM: '0',
      SVC_SANDBOX_IMAGES_URL: `http://127.0.0.1:${port}`,
      SVC_SANDBOX_IMAGES_KEY: key,
    };
    platform = await startPlatform(dataDir, await freePort(), settings, user);
    await platform.printed(/no image svc-base yet/);
  });
  after(async () => {
    await platform?.end();
    killAll();
    server.close();
    await folder.remove();
  });

  const svc = (...words: string[]) => run([...words, '--data-dir', dataDir], settings, user);
  const call = (method: string, path: string, body?: unknown) =>
    http(platform.url, path, { method, key: platform.key, ...(body !== undefined && { body }) });
  const checks = async () => {
    const { stdout } = await svc('doctor', '--json');
    const found = JSON.parse(stdout).checks as { name: string; ok: boolean; found: string; fix?: string }[];
    return found.filter(({ name }) => /^sandboxes|^images/.test(name));
  };

  test('starts the platform without a stack trace, and is told how to get an image by whoever is asked', async () => {
    assert.doesNotMatch(platform.output(), /"stack"|^ +at /m);
    const [v1, v2, image] = await checks();
    assert.deepEqual([v1?.found, v1?.ok], ['runs', true]);
    assert.match(v2?.found ?? '', /^does not run here: gVisor needs sandboxd to run as root/);
    assert.deepEqual([v2?.ok, v2?.fix], [true, undefined]);
    assert.deepEqual([image?.ok, image?.fix], [false, './svc images fetch']);
    const refused = await call('POST', '/v1/sandboxes', {});
    assert.equal(refused.status, 503);
    assert.match(refused.body.error.message, /fetch it with \.\/svc images fetch/);
  });

  test('is given no image that another key signed, and nothing of it stays', async () => {
    const other = images('new-key', join(folder.path, 'other'));
    const { code, stderr } = await svc('images', 'fetch', '--key', other);
    assert.deepEqual([code, /is not signed with the key ed25519:\S+\n$/.test(stderr)], [1, true], stderr);
    const left = readdirSync(join(dataDir, 'sandboxd/images')).filter((name) => !/\.(lock|progress)$/.test(name));
    assert.deepEqual(left, []);
  });

  test('fetches the image by the command that doctor names, and has v1 sandboxes: commands, code and files', async () => {
    const { code, stderr } = await svc('images', 'fetch');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^100 % {2}\d+ MB of \d+ MB$/m);
    // No backend is named: v1 is the one that runs here.
    const made = await call('POST', '/v1/sandboxes', {});
    assert.deepEqual([made.status, made.body.backend], [200, 'v1'], JSON.stringify(made.body));
    const at = `/v1/sandboxes/${made.body.id}`;
    const ran = await call('POST', `${at}/exec`, { shell: 'id -u; echo hello > out/file.txt' });
    assert.deepEqual([ran.body.exit_code, ran.body.stdout], [0, '1000\n'], JSON.stringify(ran.body));
    const cell = await call('POST', `${at}/run_code`, { code: 'import json\nopen("out/file.txt").read()' });
    assert.equal(cell.body.result, "'hello\\n'", JSON.stringify(cell.body));
    const headers = { authorization: `Bearer ${platform.key}`, 'content-type': 'application/octet-stream' };
    const put = await fetch(`${platform.url}${at}/files/a.txt`, { method: 'PUT', headers, body: 'mine' });
    assert.equal(put.status, 200, await put.text());
    const got = await fetch(`${platform.url}${at}/files/a.txt`, { headers });
    assert.equal(await got.text(), 'mine');
    assert.equal((await call('DELETE', at)).status, 200);
    assert.deepEqual(
      (await checks()).map(({ ok }) => ok),
      [true, true, true],
    );
    assert.doesNotMatch(platform.output(), /"stack"|^ +at /m);
  });
});
