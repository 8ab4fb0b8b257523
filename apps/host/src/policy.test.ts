import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hostOpNames } from '@svc/contract';
import { openPolicy, type PolicyOptions, writeDefaultPolicy } from './policy.ts';
import { temporaryDirectory } from './testing.ts';

async function setUp(t: TestContext, content?: unknown) {
  const home = await temporaryDirectory(t);
  const path = join(home, 'host.json');
  if (content !== undefined) await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  const faults: string[] = [];
  const options: PolicyOptions = { path, home, onFault: (fault) => faults.push(fault) };
  return { home, path, faults, options };
}

test('the first run writes a policy that only its owner reads: all but commands allowed, inside the home directory', async (t) => {
  const { home, path, options } = await setUp(t);
  await writeDefaultPolicy(path, 'ask');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const { decisions, roots } = await (await openPolicy(options)).current();
  assert.deepEqual(decisions, {
    ...Object.fromEntries(hostOpNames.map((name) => [name, 'allow'])),
    shell: 'ask',
  });
  assert.deepEqual(roots, [home]);
});

test('a policy that is there is never overwritten', async (t) => {
  const { path } = await setUp(t, { ops: { shell: 'refuse' } });
  await writeDefaultPolicy(path, 'allow');
  assert.equal(await readFile(path, 'utf8'), '{"ops":{"shell":"refuse"}}');
});

test('an operation that a list of operations leaves out is refused', async (t) => {
  const { options } = await setUp(t, { ops: { shell: 'ask', info: 'allow' } });
  const { decisions } = await (await openPolicy(options)).current();
  assert.deepEqual([decisions.shell, decisions.info, decisions.write_file], ['ask', 'allow', 'refuse']);
});

test('prompts of an agent need an approval unless commands are allowed anyway, or the file says so', async (t) => {
  const agent = { command: ['x'] };
  for (const [content, asks] of [
    [{ agent }, false],
    [{ agent, ops: { shell: 'allow' } }, false],
    [{ agent, ops: { shell: 'ask' } }, true],
    [{ agent, ops: { shell: 'refuse' } }, true],
    [{ agent, ops: { info: 'allow' } }, true],
    [{ agent: { ...agent, ask: true } }, true],
    [{ agent: { ...agent, ask: false }, ops: { shell: 'refuse' } }, false],
  ] as const) {
    const { options } = await setUp(t, content);
    assert.equal((await (await openPolicy(options)).current()).agent?.ask, asks, JSON.stringify(content));
  }
});

test('a change of the file counts from the next operation on', async (t) => {
  const { path, options } = await setUp(t, { ops: { shell: 'allow' }, name: 'one' });
  const policy = await openPolicy(options);
  assert.deepEqual([(await policy.current()).decisions.shell, (await policy.current()).name], ['allow', 'one']);
  // As long as before and within the same tick of the clock.
  await writeFile(path, JSON.stringify({ ops: { shell: 'allow' }, name: 'two' }));
  assert.equal((await policy.current()).name, 'two');
  await writeFile(path, JSON.stringify({ ops: { shell: 'refuse' } }));
  const all = await Promise.all(Array.from({ length: 50 }, () => policy.current()));
  assert.ok(all.every(({ decisions }) => decisions.shell === 'refuse'));
});

test('a malformed or missing file keeps the last good policy, is told once, and heals', async (t) => {
  const { path, faults, options } = await setUp(t, { ops: { shell: 'refuse' } });
  const policy = await openPolicy(options);
  const steps: [() => Promise<void>, RegExp][] = [
    [() => writeFile(path, '{'), /host\.json: not JSON/],
    [() => writeFile(path, '{"ops":{"shell":"maybe"}}'), /host\.json: ops\.shell: /],
    [() => writeFile(path, '{"ops":{"shel":"allow"}}'), /host\.json: ops: .*shel/],
    [() => rm(path), /cannot read the policy file .*host\.json: ENOENT/],
  ];
  for (const [break_, fault] of steps) {
    await break_();
    for (let again = 0; again < 3; again += 1) assert.equal((await policy.current()).decisions.shell, 'refuse');
    assert.match(faults.splice(0).join('|'), fault);
  }
  await writeFile(path, '{"ops":{"shell":"allow"}}');
  assert.equal((await policy.current()).decisions.shell, 'allow');
  assert.deepEqual(faults, []);
});

test('a malformed file at start is named with its fault', async (t) => {
  for (const [content, fault] of [
    ['nonsense', /host\.json: not JSON/],
    [{ roots: ['relative'] }, /host\.json: roots: "relative" is not an absolute path/],
    [{ roots: ['/absent-root'] }, /host\.json: the root \/absent-root is not a directory/],
    [{ ops: { read_file: 'ask' } }, /host\.json: ops\.read_file/],
    [{ root: ['/'] }, /host\.json: .*root/],
  ] as const) {
    const { options } = await setUp(t, content);
    await assert.rejects(openPolicy(options), { name: 'CommandError', message: fault });
  }
});

test('a file that every user can write to is not followed', async (t) => {
  const { path, options } = await setUp(t, {});
  await chmod(path, 0o666);
  await assert.rejects(openPolicy(options), { message: /every user can write to it/ });
});

test('roots are real paths, and those of the command line stand in place of the file’s', async (t) => {
  const { home, options } = await setUp(t, { roots: ['~/link'] });
  await mkdir(join(home, 'real'));
  await symlink('real', join(home, 'link'));
  assert.deepEqual((await (await openPolicy(options)).current()).roots, [join(home, 'real')]);
  const given = await openPolicy({ ...options, roots: ['/usr', '/usr/'] });
  assert.deepEqual((await given.current()).roots, ['/usr']);
});
