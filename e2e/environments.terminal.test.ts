import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { until } from '../apps/host/src/testing.ts';
import { sharedMachine } from './environments.testing.ts';

const { usable } = sharedMachine();

test('a pipe is typed into the terminal, and its end ends the shell', async (context) => {
  const s = await usable(context);
  const first = s.env('terminal', s.slug);
  first.process.stdin?.end('stty size; echo sum-$((40+2)); exit 7\n');
  assert.equal(await first.ended, 7, first.stderr());
  assert.match(first.stdout(), /\b24 80\b[^]*sum-42/);
  const second = s.env('terminal', s.id);
  second.process.stdin?.end('echo sum-$((1+1))');
  assert.equal(await second.ended, 0, second.stderr());
  assert.match(second.stdout(), /sum-2/);
});

test('on a terminal every key goes to the machine, its size follows, and afterwards the terminal is as it was', async (context) => {
  const s = await usable(context);
  const here = s.onTerminal(`tty; stty cols 100 rows 40; ${s.envLine('terminal', s.slug)}; echo code-$?; stty -a`);
  const there = (text: string) => here.shows(text);
  await there('/dev/pts/');
  const tty = /\/dev\/pts\/\d+/.exec(here.screen())?.[0] ?? '';
  await until(() => /[#$] $/.test(here.screen()), 'a prompt');
  here.type('stty size\r');
  await there('40 100');
  execFileSync('stty', ['-F', tty, 'cols', '120', 'rows', '50']);
  for (let turn = 1; !here.screen().includes('50 120'); turn += 1) {
    here.type(`stty size; echo turn-$((${turn}+0))\r`);
    await there(`\nturn-${turn}\r`);
  }
  // Said by the command that is interrupted: a shell that is about to start one keeps no key for it.
  here.type("sh -c 'echo ready; exec sleep 1000'\r");
  await there('ready\r');
  here.type('\u0003');
  await until(() => /\^C[^]*[#$] $/.test(here.screen()), 'the shell asks again');
  here.type('exit 9\r');
  assert.equal(await here.ended, 0);
  assert.match(here.screen(), /code-9[^]*[^-]opost[^]*[^-]icanon[^]* echo /);
  assert.doesNotMatch(here.screen(), /\r\r\n/);
});

test('Enter ~ . leaves a terminal with 125, and it is as it was', async (context) => {
  const s = await usable(context);
  const here = s.onTerminal(`${s.envLine('terminal', s.slug)}; echo code-$?; stty -a`);
  await until(() => /[#$] $/.test(here.screen()), 'a prompt');
  here.type('sleep 1000\r');
  here.type('~.');
  assert.equal(await here.ended, 0);
  assert.match(here.screen(), /svc: left the terminal\s+code-125[^]*[^-]icanon[^]* echo /);
});

test('a terminal whose connection is lost ends with a sentence and 125, one that is refused says why', async (context) => {
  const s = await usable(context);
  const open = s.env('terminal', s.slug);
  open.process.stdin?.write('echo sum-$((40+2))\n');
  await open.says(/sum-42/);
  s.line.lead();
  assert.equal(await open.ended, 125);
  assert.match(open.stderr(), /^svc: .+: the connection was lost\n$/);
  await s.allow({ terminal: 'refuse' });
  s.line.lead(s.gateway.url);
  await s.usable();
  const refused = s.env('terminal', s.slug);
  assert.equal(await refused.ended, 125);
  assert.match(refused.stderr(), /^svc: .+: 403 forbidden: the policy of this machine opens no terminals\n$/);
});
