import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, testDataDir } from '../../config.ts';
import { createLog } from '../../kernel/base/log.ts';
import { findRunning } from '../../postgres/embedded.ts';
import { openKernel } from '../../resources.ts';
import { masterKey } from '../../testing.ts';
import { notificationsFeature } from './feature.ts';

// A process that does nothing but deliver, for tests that kill it. Arguments: a test database, a port that it may reach.
const [database = '', port = ''] = process.argv.slice(2);
const embedded = findRunning(testDataDir() ?? '');
if (!embedded) throw new Error('the test server is gone');
const config = loadConfig(
  {},
  {
    SVC_DATA_DIR: mkdtempSync(join(tmpdir(), 'svc-outbox-')),
    SVC_MASTER_KEY: masterKey,
    SVC_LOG_LEVEL: 'error',
    SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    SVC_FETCH_PORTS: port,
  },
);
const { value: kernel } = await openKernel(config, createLog(config.logLevel), { database: { embedded, database } });
await notificationsFeature(kernel).start?.(kernel, { serves: false, works: true, relays: false });
process.stdout.write('delivering\n');
setInterval(() => {}, 60_000);
