import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readVerdict } from './prompts.verdict.ts';
import { verdictOf } from './prompts.testing.ts';

test('a hostile answer is read in one pass over it', () => {
  // In a pass for each brace this takes minutes.
  const began = process.cpuUsage().user;
  for (const piece of ['{', '}', '{"a":', '[{', '}{'])
    assert.ok('wrong' in readVerdict(piece.repeat(1_000_000 / piece.length)), piece);
  assert.ok(process.cpuUsage().user - began < 30_000_000);
  const report = JSON.parse(verdictOf('done', { summary: 's'.repeat(1_000_000) })) as object;
  const read = readVerdict(`Sure:\n${JSON.stringify(report)}\nThat is all.`);
  assert.ok('report' in read && read.report.summary.length === 4_000);
});
