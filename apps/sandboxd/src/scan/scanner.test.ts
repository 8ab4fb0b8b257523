import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { needsRoot, temporaryDirectory } from '../parts.testing.ts';
import { createSystemPackages } from '../system-packages.ts';
import { createScanner } from './scanner.ts';

const skip = needsRoot;
// In two halves, so that no scanner takes this file for it.
const eicar = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-', 'ANTIVIRUS-TEST-FILE!$H+H*'].join('');
const of = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));

async function scanner(t: TestContext) {
  const said: string[] = [];
  const databaseDir = await temporaryDirectory(t);
  const made = createScanner({ packages: createSystemPackages(true), databaseDir, log: (line) => said.push(line) });
  t.after(() => made.close());
  return { scanner: made, said };
}

test('clean and infected files are told apart by the signatures that ship with the product', { skip }, async (t) => {
  const { scanner: it, said } = await scanner(t);
  assert.deepEqual(await it.scan(of('hello')), { verdict: 'clean' });
  assert.deepEqual(await it.scan(of()), { verdict: 'clean' });
  assert.deepEqual(await it.scan(of(eicar)), { verdict: 'infected', signature: 'Eicar-Test-Signature' });
  assert.deepEqual(await it.scan(of(eicar.slice(0, 9), eicar.slice(9))), {
    verdict: 'infected',
    signature: 'Eicar-Test-Signature',
  });
  assert.deepEqual(said, []);
});

test('a scanner that died is started again, also for several at once', { skip }, async (t) => {
  const { scanner: it } = await scanner(t);
  await it.scan(of('x'));
  const children = execFileSync('pgrep', ['-P', String(process.pid), '-x', 'clamd'], { encoding: 'utf8' });
  const pids = children.trim().split('\n').map(Number);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  while (pids.some((pid) => existsSync(`/proc/${pid}`))) await nextTurn();
  const verdicts = await Promise.all([it.scan(of(eicar)), it.scan(of('y')), it.scan(of(eicar))]);
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['infected', 'clean', 'infected'],
  );
});

test('a scan without a scanner, or of a body that breaks off, is an error and no verdict', async (t) => {
  const missing = { ensure: () => Promise.resolve('run as root: apt-get install clamav-daemon') };
  const said: string[] = [];
  const none = createScanner({ packages: missing, log: (line) => said.push(line) });
  assert.deepEqual(await none.scan(of(eicar)), { verdict: 'error' });
  assert.match(said.join(), /apt-get install clamav-daemon/);
  await none.close();
  if (skip) return;
  const { scanner: it } = await scanner(t);
  const broken = Readable.from(
    (function* () {
      yield Buffer.from('half');
      throw new Error('connection lost');
    })(),
  );
  assert.deepEqual(await it.scan(broken), { verdict: 'error' });
  assert.deepEqual(await it.scan(of('hello')), { verdict: 'clean' });
});
