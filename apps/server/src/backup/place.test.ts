import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../config.ts';
import type { CommandError } from '../kernel/base/command-error.ts';
import { configAt, tryPlace } from './place.ts';

const refusal = (place: string, dataDir: string): Promise<string> =>
  tryPlace(configAt(loadConfig({}, {}), { place }, undefined), dataDir).then(
    () => '',
    ({ message }: CommandError) => message,
  );

test('a temporary folder takes no backups of data that stays', async () => {
  for (const place of ['/tmp/svc-backups', '/var/tmp/svc-backups'])
    assert.match(await refusal(place, '/proc'), /is in a temporary folder/, place);
});

test('a folder that may not be made is refused with the command that makes it', async (context) => {
  if (process.platform !== 'linux') return context.skip('it has no /sys');
  // Nobody makes one there, root neither; in a container it is read-only too.
  const message = await refusal('/sys/svc-backups', '/proc');
  assert.match(message, /install -d -m 700 -o \S+ \/sys\/svc-backups/);
  assert.doesNotMatch(message, /chown|EROFS/);
});
