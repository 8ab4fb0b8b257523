import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTest } from '../../testing.ts';
import { checkPlatform } from '../../doctor.platform.ts';
import { checkBuild, HubFiles, keepFailure } from './hub.build.ts';

describe('the build of the hub', () => {
  test('that failed in the platform is told with its reason, until one goes well, whoever looks could build it', async () => {
    await using t = await openTest();
    const { kernel } = t.gateway;
    await keepFailure(kernel, 'spawn esbuild EACCES');
    const said = (await checkPlatform(kernel)).find(({ name }) => name === 'hub');
    assert.equal(said?.ok, false);
    assert.match(said?.found ?? '', /^its pages cannot be built: spawn esbuild EACCES \(at 20/);
    const progress = await new HubFiles(kernel).find();
    assert.ok('built' in progress);
    assert.equal((await checkBuild(kernel.dataDir)).failure, undefined);
  });

  test('of other sources, and what is no record, is told by nobody', async () => {
    await using t = await openTest();
    const { dataDir } = t.gateway.kernel;
    const path = join(dataDir, 'hub.failure.json');
    await new HubFiles(t.gateway.kernel).find();
    const isTold = async () => (await checkBuild(dataDir)).failure !== undefined;
    writeFileSync(path, JSON.stringify({ hash: 'another', at: 'x', failure: 'x' }));
    assert.equal(await isTold(), false);
    rmSync(path);
    symlinkSync('/etc/hostname', path);
    assert.equal(await isTold(), false);
    rmSync(path);
    execFileSync('mkfifo', [path]);
    assert.equal(await isTold(), false);
  });
});
