import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, testDataDir } from '../../../config.ts';
import { Sandboxes } from '../../sandboxes/index.ts';
import { Rights } from '../../schedules/index.ts';
import { schedulerFeature } from '../feature.ts';
import { Scheduler } from '../index.ts';
import { findRunning } from '../../../postgres/embedded.ts';
import { createLog } from '../../../kernel/base/log.ts';
import { openKernel } from '../../../resources.ts';
import { masterKey } from '../../../testing.ts';

// A process that does nothing but tick, for tests that kill it. Its argument is a test database.
const [database = ''] = process.argv.slice(2);
const embedded = findRunning(testDataDir() ?? '');
if (!embedded) throw new Error('the test server is gone');
const settings = { SVC_DATA_DIR: mkdtempSync(join(tmpdir(), 'svc-ticker-')), SVC_MASTER_KEY: masterKey };
const config = loadConfig({}, { ...settings, SVC_LOG_LEVEL: 'error' });
const { value: kernel } = await openKernel(config, createLog(config.logLevel), { database: { embedded, database } });
const sandboxes = new Sandboxes(kernel);
const rights = new Rights({ authenticateId: () => undefined }, sandboxes);
const agent = { runTask: () => Promise.reject(new Error('nothing runs agents here')) };
await schedulerFeature(new Scheduler(kernel), { sandboxes, agent, rights }).start?.(kernel, {
  serves: true,
  works: true,
  relays: true,
});
process.stdout.write('ticking\n');
setInterval(() => {}, 60_000);
