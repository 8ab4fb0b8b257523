import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { mainPath, skip, startDaemon } from './testing.ts';

test('a second node agent of a platform says once who holds the directory, waits, and takes over', {
  skip,
}, async () => {
  const daemon = await startDaemon(['--warm', '0']);
  const images = process.env['SVC_TEST_IMAGES'] ?? '/var/cache/svc/images';
  const words = ['run', '--tied', '--dir', daemon.dir, '--images', images, '--warm', '0'];
  const second = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', mainPath, ...words], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  try {
    const lines: string[] = [];
    const ready = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    createInterface({ input: second.stderr }).on('line', (line) => {
      lines.push((JSON.parse(line) as { msg: string }).msg);
      told.resolve();
      if (lines.at(-1) === 'ready') ready.resolve();
    });
    await told.promise;
    assert.match(
      lines[0] ?? '',
      new RegExp(`^another sandboxd \\(pid ${daemon.pid}\\) holds .*; until it ends this one only waits$`),
    );
    assert.equal((await daemon.call('GET', '/v1/node')).status, 200);
    await daemon.terminate();
    await ready.promise;
    assert.equal(lines.filter((line) => line.startsWith('another')).length, 1);
    assert.equal((await daemon.call('GET', '/v1/node')).status, 200);
  } finally {
    const ended = once(second, 'exit');
    second.stdin.end();
    await ended;
    await daemon.stop();
  }
});
