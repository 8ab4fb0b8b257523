import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { reasonOf } from '@svc/contract';
import { cronError } from '@svc/timetable';
import { ApiError, badRequest } from './errors.ts';

const features = join(import.meta.dirname, '../../features');
/** Features whose forms a person fills in. */
const withForms =
  'accounts,devices,environments,heartbeats,keys,machines,me,notifications,projects,prompts,schedules,system,transcripts';

/** A text in quotes; what stands in its place decides nothing of the rest. */
const quoted = /(?:'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`)/.source;
const refusing = [
  new RegExp(`\\b(?:badRequest|refuse[a-zA-Z]*|fault)\\(\\s*(?:[^'\`;()]+,\\s*|'[\\w.]+',\\s*)?${quoted}`, 'g'),
  new RegExp(`const (?:message|why) =\\s*${quoted};\\s*throw badRequest`, 'g'),
];

/** Sentences of refusals that stand in a file, with `9` for what is put in. */
function sentencesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return refusing
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map(([, plain, filled]) => (plain ?? filled ?? '').replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '9'))
    .map((said) => said.replace(/^[a-z_9.]+: /, ''))
    .filter((said) => /[a-z] [a-z]/.test(said) && !/^a [a-z ]+$/.test(said));
}

/** Said to programs: no form of a page causes it, or a page shows the words of its code alone. */
const unmet = [
  /next_cursor/,
  /^send (?:text or trigger|at least one field)/,
  /^must lie after from/,
  /^there is no template/,
  /^must be a text: 9/,
  /^this prompt is 9/,
  /^p256dh/,
  /^an exit code/,
  /^must be 3 to 40 small letters, digits and hyphens$/,
  /micro-euro/,
];

test('what a route with a form refuses by itself has a code, beside its sentence', () => {
  const files = globSync(`{${withForms}}/**/*.ts`, { cwd: features }).filter((name) => !/test/.test(name));
  const said = files.flatMap((name) => sentencesOf(join(features, name)));
  assert.ok(said.length > 30, String(said.length));
  assert.deepEqual(
    said.filter((sentence) => !unmet.some((pattern) => pattern.test(sentence)) && !reasonOf(sentence)),
    [],
  );
});

test('what is wrong with a cron expression has a code, with its parameters', () => {
  const wrong = [
    '* * *',
    '@often',
    '0 0 31 2 *',
    '5/2 * * * *',
    '*/99 * * * *',
    '? * * * *',
    '9-3 * * * *',
    '99 * * * *',
  ];
  const found = [...wrong, 'x'.repeat(300)].map((expr) => reasonOf(cronError(expr) ?? '')?.code);
  assert.deepEqual(found, [
    'cron_fields',
    'cron_macro',
    'cron_never',
    'cron_step_alone',
    'cron_step',
    'cron_unknown',
    'cron_backwards',
    'cron_outside',
    'cron_long',
  ]);
});

test('a refusal says by code and parameters what its sentences say, by field or of the whole request', () => {
  const fields = badRequest('name: must have at most 120 characters', {
    name: ['must have at most 120 characters', 'is odd'],
    other: ['is odd'],
  });
  assert.deepEqual(fields.envelope().error.details?.['reasons'], {
    name: [{ code: 'too_long', params: { most: 120 } }],
  });
  const full = new ApiError('quota_exceeded', 'this account may have 20 webhooks, and has 3; delete one');
  assert.deepEqual(full.envelope().error.details, {
    reasons: { body: [{ code: 'quota', params: { most: 20, what: 'webhooks', used: 3, remedy: 'delete one' } }] },
  });
  assert.equal(new ApiError('not_found', 'no such key').envelope().error.details, undefined);
});
