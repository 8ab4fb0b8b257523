import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createApprover, type Terminal } from './approval.ts';

/** A terminal whose person is the test: `type` answers after the next question was shown. */
function terminal() {
  const input: PassThrough & { isTTY?: boolean } = new PassThrough();
  const output: PassThrough & { isTTY?: boolean } = new PassThrough();
  input.isTTY = true;
  output.isTTY = true;
  let shown = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
    if (shown.endsWith('[y/N] ')) output.emit('asked');
  });
  const asked = () => new Promise<void>((resolve) => output.once('asked', () => resolve()));
  const type = async (text: string) => {
    await asked();
    input.write(text);
  };
  const ends: Terminal = { input, output };
  return { ends, input, type, asked, shown: () => shown };
}

const never = new AbortController().signal;

test('only y or yes is a yes', async () => {
  for (const [typed, wanted] of [
    ['y\n', 'yes'],
    ['YES\n', 'yes'],
    ['\n', 'no'],
    ['n\n', 'no'],
    ['yeah\n', 'no'],
  ] as const) {
    const { ends, type } = terminal();
    const answer = createApprover(ends, () => true).ask('run?', never);
    await type(typed);
    assert.equal(await answer, wanted);
  }
});

test('what was typed before the question is no answer to it', async () => {
  const { ends, input, type } = terminal();
  input.write('y\n');
  const answer = createApprover(ends, () => true).ask('run?', never);
  await type('n\n');
  assert.equal(await answer, 'no');
});

test('questions come one after the other, each with its own answer', async () => {
  const { ends, type, shown } = terminal();
  const approver = createApprover(ends, () => true);
  const [first, second] = [approver.ask('first', never), approver.ask('second', never)];
  await type('y\n');
  assert.equal(await first, 'yes');
  await type('n\n');
  assert.equal(await second, 'no');
  assert.ok(shown().indexOf('first') < shown().indexOf('second'));
});

test('a question ends unanswered with its operation, and the next is still asked', async () => {
  const { ends, type, asked } = terminal();
  const approver = createApprover(ends, () => true);
  const op = new AbortController();
  const first = approver.ask('first', op.signal);
  await asked();
  op.abort('timeout');
  assert.equal(await first, 'unavailable');
  const second = approver.ask('second', never);
  await type('y\n');
  assert.equal(await second, 'yes');
});

test('nobody is asked without a terminal, in a background job, or when the terminal closed', async () => {
  const { ends, input, asked } = terminal();
  assert.equal(
    await createApprover({ ...ends, input: new PassThrough() }, () => true).ask('run?', never),
    'unavailable',
  );
  assert.equal(await createApprover(ends, () => false).ask('run?', never), 'unavailable');
  const answer = createApprover(ends, () => true).ask('run?', never);
  await asked();
  input.end();
  assert.equal(await answer, 'unavailable');
});

test('control characters and direction marks of a command are shown, not obeyed', async () => {
  const { ends, type, shown } = terminal();
  const answer = createApprover(ends, () => true).ask('rm -rf /\r\u001b[2Kls\u202e\n[y/N] y', never);
  await type('n\n');
  await answer;
  assert.ok(shown().startsWith('rm -rf /\\u{d}\\u{1b}[2Kls\\u{202e}\\u{a}'));
});
