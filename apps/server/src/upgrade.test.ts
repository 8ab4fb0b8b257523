import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { CommandError } from './kernel/base/command-error.ts';
import { type UpgradeMachine, secretFilesOf, upgrade, type UpgradeOptions } from './upgrade.ts';

interface More {
  hasPlace?: boolean;
  running?: { pid: number; part: string }[];
  machine?: Partial<UpgradeMachine>;
}

/** A clone whose commands note how they were called, in the release that is checked out then, and fail or hang where a file says so. */
function clone(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-upgrade-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const [origin, root, log, fails] = [path('origin'), path('clone'), path('log'), path('fails')];
  const [hangs, hanging] = [path('hangs'), path('hanging')];
  execFileSync('mkfifo', [hanging]);
  const git = (place: string, ...words: string[]): string =>
    execFileSync('git', ['-C', place, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const program = (name: string): string => `#!/bin/sh
echo "$(cat "$(dirname "$0")/${name === 'svc' ? '' : '../'}release") ${name} $*" >> ${log}
for word; do if [ "$word" = "$(cat ${fails} 2>/dev/null)" ]; then echo "svc: no $word" >&2; exit 1; fi; done
for word; do if [ "$word" = "$(cat ${hangs} 2>/dev/null)" ]; then echo > ${hanging}; sleep 600; fi; done
case "$*" in *create*) echo '{"file":"/backups/one"}' ;; esac
`;
  mkdirSync(join(origin, 'scripts'), { recursive: true });
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', origin]);
  for (const name of ['svc', 'node'])
    writeFileSync(join(origin, name === 'svc' ? name : 'scripts/node'), program(name), { mode: 0o755 });
  const release = (name: string, tag?: string): void => {
    writeFileSync(join(origin, 'release'), name);
    git(origin, 'add', '-A');
    git(origin, 'commit', '--quiet', '-m', name);
    if (tag !== undefined) git(origin, 'tag', tag);
  };
  release('old', 'v0.1.0');
  execFileSync('git', ['clone', '--quiet', origin, root], { stdio: 'ignore' });
  const said: string[] = [];
  const machine: UpgradeMachine = {
    isRoot: true,
    processFile: (_, name) => (name === 'cgroup' ? '0::/user.slice/x.scope\n' : `node\0${root}/svc\0`),
    systemctl: () => Promise.reject(new Error('no systemctl here')),
    onSignals: () => () => {},
  };
  const given = (more: More) => ({
    root,
    hasPlace: true,
    running: [],
    ...more,
    machine: { ...machine, ...more.machine },
  });
  return {
    root,
    release,
    said,
    git: (...words: string[]) => git(root, ...words),
    origin: (...words: string[]) => git(origin, ...words),
    fail: (word: string) => writeFileSync(fails, word),
    log: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
    /** Has commands of that word hang; answers when one does. */
    hang: async (word: string): Promise<void> => {
      writeFileSync(hangs, word);
      await readFile(hanging);
      rmSync(hangs);
    },
    upgrade: (options: UpgradeOptions = {}, more: More = {}) =>
      upgrade(options, { ...given(more), words: ['--data-dir', '/data'], say: (line) => said.push(line) }),
    refusal: (options: UpgradeOptions = {}, more: More = {}): Promise<string> =>
      upgrade(options, { ...given(more), words: [], say: () => {} }).then(
        () => '',
        ({ message }: CommandError) => message,
      ),
  };
}

describe('svc upgrade', () => {
  test('backs up with the release that runs, then checks out, installs and migrates with the newest one', async (t) => {
    const c = clone(t);
    assert.equal((await c.upgrade()).next, 'nothing is newer');
    c.release('new', 'v0.9.0');
    c.release('newest', 'v0.10.0');
    c.release('not released');
    const checked = await c.upgrade({ check: true });
    assert.deepEqual([checked.newer?.name, checked.newer?.changes], ['v0.10.0', 2]);
    assert.deepEqual([c.log(), c.git('symbolic-ref', '--short', 'HEAD')], [[], 'main'], '--check changes nothing');
    const done = await c.upgrade({}, { running: [{ pid: 7, part: 'all' }] });
    assert.deepEqual([done.newer?.name, done.backup], ['v0.10.0', '/backups/one']);
    assert.match(done.next ?? '', /restart it/);
    assert.deepEqual(c.log(), [
      'old svc --data-dir /data --json backup create',
      'newest node --version',
      'newest svc --data-dir /data migrate',
    ]);
    assert.deepEqual(c.said.slice(-5), ['fetch …', 'backup …', 'check out …', 'install …', 'migrate …']);
    assert.equal((await c.upgrade()).next, 'nothing is newer');
  });

  test('a step that fails leaves the release before checked out and installed, and says which and how to go on', async (t) => {
    const c = clone(t);
    c.release('new');
    c.git('tag', '--delete', 'v0.1.0');
    const before = c.git('rev-parse', 'HEAD');
    c.fail('create');
    assert.match(await c.refusal({ release: 'main' }), /at its step "backup": svc: no create\nnothing was changed/);
    c.fail('migrate');
    const told = await c.refusal({ release: 'main' });
    assert.match(told, /at its step "migrate": svc: no migrate\nthe release before runs on, and is checked out again/);
    assert.deepEqual([c.git('rev-parse', 'HEAD'), c.git('symbolic-ref', '--short', 'HEAD')], [before, 'main']);
    assert.equal(c.log().at(-1), 'old node --version');
    writeFileSync(join(c.root, 'release'), 'changed');
    assert.match(await c.refusal({ release: 'main' }), /files of the clone were changed[\s\S]*release/);
  });

  test('nothing is done without a backup, unless that is said, nor to a release that is not there, older, or in no clone', async (t) => {
    const c = clone(t);
    c.release('new');
    assert.match(await c.refusal({ release: 'main' }, { hasPlace: false }), /--backup FILE, or give --without-backup/);
    assert.match(await c.refusal({ release: 'v9.9.9' }), /there is no release v9\.9\.9/);
    assert.match(await c.refusal({ release: 'v0.1.0' }), /is no newer/);
    assert.deepEqual(c.log(), []);
    await c.upgrade({ release: 'main', withoutBackup: true }, { hasPlace: false });
    assert.deepEqual(
      c.log().map((line) => line.split(' ').at(-1)),
      ['--version', 'migrate'],
    );
    writeFileSync(join(c.root, '.git/config'), '[');
    assert.match(await c.refusal(), /git cannot read .*: fatal: bad config line/);
    rmSync(join(c.root, '.git'), { recursive: true });
    assert.match(await c.refusal(), /is no clone of git/);
  });

  test('commits that the newer release has not are not taken off what runs', async (t) => {
    const c = clone(t);
    c.release('new', 'v0.2.0');
    c.git('commit', '--quiet', '--allow-empty', '-m', 'own');
    const before = c.git('rev-parse', 'HEAD');
    assert.match(await c.refusal(), /has 1 commit that \w+ has not/);
    assert.deepEqual([c.log(), c.git('rev-parse', 'HEAD')], [[], before]);
  });

  test('the next upgrade follows the branch that the one before it found', async (t) => {
    const c = clone(t);
    c.origin('tag', '--delete', 'v0.1.0');
    c.git('tag', '--delete', 'v0.1.0');
    c.origin('checkout', '--quiet', '-b', 'slow');
    c.git('fetch', '--quiet');
    c.git('checkout', '--quiet', 'slow');
    c.release('slow');
    assert.equal((await c.upgrade()).newer?.changes, 1);
    c.release('slower');
    const slower = c.origin('rev-parse', 'HEAD');
    c.origin('checkout', '--quiet', 'main');
    c.release('fast');
    assert.equal((await c.upgrade()).newer?.commit, slower);
  });

  test('a signal ends what installs or migrates, with what that started, and the release before is installed again', async (t) => {
    const c = clone(t);
    c.release('new', 'v0.2.0');
    for (const word of ['--version', 'migrate']) {
      let [end, isOn] = [(): void => {}, true];
      const onSignals = (given: () => void) => {
        end = given;
        return () => (isOn = false);
      };
      const refused = c.refusal({}, { machine: { onSignals } });
      await c.hang(word);
      end();
      assert.match(await refused, /it was interrupted\nthe release before runs on, and is checked out again/);
      assert.deepEqual([c.git('symbolic-ref', '--short', 'HEAD'), isOn], ['main', false]);
      assert.equal(c.log().at(-1), 'old node --version');
    }
    assert.equal((await c.upgrade()).newer?.name, 'v0.2.0');
  });

  test('what an upgrade that was killed, or that could not restart, left is done by the next', async (t) => {
    const c = clone(t);
    c.release('new', 'v0.2.0');
    let end = (): void => {};
    const onSignals = (given: () => void) => {
      end = given;
      return () => {};
    };
    const killed = c.refusal({}, { machine: { onSignals } });
    t.after(async () => {
      end();
      await killed;
    });
    await c.hang('migrate');
    assert.match((await c.upgrade({ check: true })).next ?? '', /was not ended/);
    const restarted: string[] = [];
    const running = [{ pid: 7, part: 'all' }];
    const machine: Partial<UpgradeMachine> = {
      processFile: (_, name) => (name === 'cgroup' ? '0::/system.slice/svc.service\n' : `${c.root}/svc`),
      systemctl: (verb, ...words) => {
        if (verb === 'show') return Promise.resolve('7');
        restarted.push(...words);
        return restarted.length === 1 ? Promise.reject(new Error('no')) : Promise.resolve('');
      },
    };
    const told = await c.refusal({}, { running, machine });
    assert.match(
      told,
      /at its step "restart": no\nlook at journalctl -u svc\.service; to go back: git .* checkout main/,
    );
    assert.deepEqual(c.log().slice(-2), ['new node --version', 'new svc migrate']);
    assert.equal((await c.upgrade({ release: 'v0.2.0' }, { running, machine })).next, undefined);
    assert.deepEqual(restarted, ['svc.service', 'svc.service']);
    assert.equal((await c.upgrade({}, { running, machine })).next, 'nothing is newer');
  });

  test('only units whose main process is the platform of this clone are restarted, and the other processes are named', async (t) => {
    const c = clone(t);
    const units: Record<number, [unit: string, main: number, program: string]> = {
      1: ['system.slice/svc-gateway@1.service', 1, `${c.root}/svc`],
      2: ['system.slice/svc-worker.service', 2, `${c.root}.link/svc`],
      3: ['system.slice/cron.service', 30, `${c.root}/svc`],
      4: ['system.slice/ssh.service', 4, '/usr/sbin/sshd'],
      5: ['user.slice/user-1.slice/user@1.service/app.slice/svc.service', 0, `${c.root}/svc`],
    };
    symlinkSync(c.root, `${c.root}.link`);
    const asked: string[] = [];
    const machine = (isRoot: boolean): Partial<UpgradeMachine> => ({
      isRoot,
      processFile: (pid, name) => (name === 'cgroup' ? `0::/${units[pid]?.[0]}\n` : `node\0${units[pid]?.[2]}\0up\0`),
      systemctl: (...words) => {
        if (words[0] !== 'show') asked.push(words.join(' '));
        const found = Object.values(units).find(([unit]) => unit.endsWith(`/${words.at(-1)}`));
        return Promise.resolve(String(found?.[1]));
      },
    });
    const running = Object.keys(units).map((pid) => ({ pid: Number(pid), part: 'gateway' }));
    const left = 'end and start again what is under no unit: gateway (pid 3), gateway (pid 4), gateway (pid 5)';
    c.release('new', 'v0.2.0');
    assert.equal((await c.upgrade({}, { running, machine: machine(true) })).next, left);
    assert.deepEqual(asked.splice(0), ['restart svc-gateway@1.service', 'restart svc-worker.service']);
    c.release('newer', 'v0.3.0');
    assert.equal(
      (await c.upgrade({}, { running, machine: machine(false) })).next,
      `restart it as root: systemctl restart svc-gateway@1.service svc-worker.service; ${left}`,
    );
    assert.deepEqual(asked, []);
  });

  test('its commands are given the files of secrets that its command line names', () => {
    const files = ['--database-url-file', '/url', '--backup-passphrase-file=/words'];
    const others = ['--data-dir', '/data', 'upgrade', 'v1.0.0', '--check'];
    assert.deepEqual(secretFilesOf([...files.slice(0, 2), ...others, ...files.slice(2)]), files);
  });
});
