import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openTest } from '../../testing.ts';
import { checkPlatform } from '../../doctor.platform.ts';
import { hashOfSources } from '@svc/hub/sources';
import { checkBuild, HubFiles, keepFailure, lastFailure } from './hub.build.ts';

describe('the build of the hub', () => {
  test('that failed in the platform is told with its reason, until one goes well, whoever looks could build it', async () => {
    await using t = await openTest();
    const { kernel } = t.gateway;
    await keepFailure(kernel, 'spawn esbuild EACCES');
    assert.match((await lastFailure(kernel.dataDir, await hashOfSources())) ?? '', /^spawn esbuild EACCES \(at 20/);
    const progress = await new HubFiles(kernel).find();
    assert.ok('built' in progress);
    assert.equal(await lastFailure(kernel.dataDir, await hashOfSources()), undefined);
  });

  test('that is there is told over a failure before it, such as that of a gateway which could not build', async () => {
    await using t = await openTest();
    const { kernel } = t.gateway;
    await new HubFiles(kernel).find();
    await keepFailure(kernel, 'spawn esbuild EACCES');
    assert.deepEqual(await checkBuild(kernel.dataDir), { isBuilt: true });
    const said = (await checkPlatform(kernel)).find(({ name }) => name === 'hub');
    assert.equal(said?.ok, true);
  });

  test('of other sources, and what is no record, is told by nobody', async () => {
    await using t = await openTest();
    const { dataDir } = t.gateway.kernel;
    const path = join(dataDir, 'hub.failure.json');
    const hash = await hashOfSources();
    const isTold = async () => (await lastFailure(dataDir, hash)) !== undefined;
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
