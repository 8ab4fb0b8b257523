import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../testing.ts';
import { cronInstaller, systemdInstaller } from './install.ts';

/** A program that stands for the system's, in a directory of its own. */
async function fake(t: TestContext, name: string, script: string) {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, name), `#!/bin/sh\ncd ${directory}\n${script}\n`);
  await chmod(join(directory, name), 0o755);
  return { directory, environment: { PATH: `${directory}:/usr/bin:/bin` } };
}

/** As `crontab` of Debian does: nothing there is a failure with these words. */
const crontab = `case "$1" in
-l) [ -e table ] || { echo "no crontab for test" >&2; exit 1; }; [ ! -e broken ] || { echo denied >&2; exit 1; }; cat table ;;
-r) rm table ;;
-) cat > new && mv new table; echo x >> writes ;;
esac`;

const command = (id: string) => ['/opt/it’s 100%/svc', 'host', 'fire', id];
const line = (id: string) => `* * * * * '/opt/it’s 100\\%/svc' 'host' 'fire' '${id}' >/dev/null 2>&1`;

test("entries stand between marks of ours; other lines, and another daemon's, stay as they are", async (t) => {
  const { directory, environment } = await fake(t, 'crontab', crontab);
  const table = () => readFile(join(directory, 'table'), 'utf8').catch(() => undefined);
  const others = '# mine\n0 5 * * * backup 100\\%\n\nMAILTO=me';
  await writeFile(join(directory, 'table'), others);
  const [one, two] = ['/state/one', '/state/two'].map((stateDir) => cronInstaller({ stateDir, command, environment }));
  assert.ok(one && two);
  await one.sync([]);
  assert.equal(await table(), others, 'not even a line end is added when there is nothing to say');
  await one.sync(['a', 'b']);
  await two.sync(['c']);
  const block = (name: string, ...ids: string[]) =>
    [`# svc host begin /state/${name}`, ...ids.map(line), `# svc host end /state/${name}`, ''].join('\n');
  assert.equal(await table(), `${others}\n${block('one', 'a', 'b')}${block('two', 'c')}`);
  const writes = (await readFile(join(directory, 'writes'), 'utf8')).length;
  await two.sync(['c']);
  assert.equal(
    (await readFile(join(directory, 'writes'), 'utf8')).length,
    writes,
    'what is there is not written again',
  );
  await one.sync(['b']);
  await two.sync([]);
  assert.equal(await table(), `${others}\n${block('one', 'b')}`);
  await one.sync([]);
  assert.equal(await table(), `${others}\n`);
});

test('a crontab that was empty is gone afterwards; one that cannot be read, or lost a mark, is not touched', async (t) => {
  const { directory, environment } = await fake(t, 'crontab', crontab);
  const table = () => readFile(join(directory, 'table'), 'utf8').catch(() => undefined);
  const installer = cronInstaller({ stateDir: '/state', command, environment });
  await installer.sync(['a']);
  await installer.sync([]);
  assert.equal(await table(), undefined);
  await writeFile(join(directory, 'table'), 'keep\n');
  await writeFile(join(directory, 'broken'), '');
  await assert.rejects(installer.sync(['a']), /denied/);
  assert.equal(await table(), 'keep\n');
  await rm(join(directory, 'broken'));
  const damaged = '# svc host begin /state\nkeep\n';
  await writeFile(join(directory, 'table'), damaged);
  await assert.rejects(installer.sync(['a']), /without its end/);
  assert.equal(await table(), damaged);
});

test('timers of systemd come and go with their schedules, those of others stay', async (t) => {
  const { directory, environment } = await fake(t, 'systemctl', 'echo "$*" >> calls');
  const unitDirectory = join(await temporaryDirectory(t), 'systemd/user');
  await mkdir(unitDirectory, { recursive: true });
  await writeFile(join(unitDirectory, 'svc-native-x.timer'), '# svc host, state directory /other\n');
  const place = { unitDirectory, systemctl: ['systemctl', '--user'] };
  const installer = systemdInstaller({ stateDir: '/state', command, environment }, place);
  const calls = async () => (await readFile(join(directory, 'calls'), 'utf8').catch(() => '')).trim().split('\n');
  await installer.sync([]);
  assert.deepEqual(await calls(), ['']);
  await installer.sync(['a', 'b']);
  assert.deepEqual(await calls(), [
    '--user daemon-reload',
    '--user enable --now svc-native-a.timer',
    '--user enable --now svc-native-b.timer',
  ]);
  const service = await readFile(join(unitDirectory, 'svc-native-a.service'), 'utf8');
  assert.match(service, /^ExecStart="\/opt\/it’s 100%%\/svc" "host" "fire" "a"$/m);
  assert.match(await readFile(join(unitDirectory, 'svc-native-a.timer'), 'utf8'), /^OnCalendar=minutely$/m);
  await installer.sync(['b']);
  assert.deepEqual((await calls()).slice(3), ['--user disable --now svc-native-a.timer', '--user daemon-reload']);
  assert.deepEqual((await readdir(unitDirectory)).sort(), [
    'svc-native-b.service',
    'svc-native-b.timer',
    'svc-native-x.timer',
  ]);
});
