import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { contract, reasonOf, reasons, type Route, wordsFor } from '@svc/contract';
import { z } from 'zod';
import { detailOf, type Details, fieldsOf } from '../src/api/reasons.rules.ts';
import { en } from '../src/words/en.ts';
import { ro } from '../src/words/ro.ts';
import { reasonsRo } from '../src/words/ro.reasons.ts';

const sources = join(import.meta.dirname, '../src');

/** Routes that pages call: `api.keys.create`, or `'prompts.create'` of the outbox. */
async function routesOfPages(): Promise<Route[]> {
  const names = (await readdir(sources, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  const text = (await Promise.all(names.map(async (name) => readFile(join(sources, name), 'utf8')))).join('\n');
  const called = new Set(
    [...text.matchAll(/(?=\b([a-z]+)\s*\.\s*([a-zA-Z]+)\b)/g)].map(([, one, two]) => `${one}.${two}`),
  );
  return Object.entries(contract).flatMap(([feature, routes]) =>
    Object.entries(routes as Record<string, Route>).flatMap(([verb, one]) =>
      called.has(`${feature}.${verb}`) ? [one] : [],
    ),
  );
}

const partsOf = ({ takes, params, query }: Route): z.ZodType[] =>
  [takes?.kind === 'json' ? takes.schema : undefined, params, query].filter((each) => each !== undefined);

interface Definition {
  type?: string;
  checks?: { _zod: { def: Definition } }[];
  error?: (issue: { code: string; input: string }) => string | { message: string } | undefined;
  shape?: Record<string, z.ZodType>;
  options?: z.ZodType[];
  items?: z.ZodType[];
}
const innerNames = ['element', 'innerType', 'in', 'out', 'keyType', 'valueType', 'left', 'right'];

/** Sentences that a schema, or one inside of it, has of its own. */
function ownSentences(schema: z.ZodType, seen = new Set<unknown>()): string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const def = schema._zod.def as unknown as Definition & Record<string, unknown>;
  const inner = [
    ...Object.values(def.shape ?? {}),
    ...(def.options ?? []),
    ...(def.items ?? []),
    ...innerNames.map((name) => def[name] as z.ZodType | undefined),
  ];
  const said = [def, ...(def.checks ?? []).map(({ _zod }) => _zod.def)].flatMap(({ error }) => {
    const answer = error?.({ code: 'custom', input: 'x' });
    return answer === undefined ? [] : [typeof answer === 'string' ? answer : answer.message];
  });
  return [...said, ...inner.flatMap((one) => (one === undefined ? [] : ownSentences(one, seen)))];
}

const junk = [undefined, null, -1, 1.5, 1e18, '', 'x', 'é\u0000', 'x'.repeat(200_000), true, [], [null], {}, { x: 1 }];

function sentencesFor(schema: z.ZodType): string[] {
  const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const values = [...junk, ...names.flatMap((name) => junk.map((value) => ({ [name]: value })))];
  const flat = (issues: readonly z.core.$ZodIssue[]): string[] =>
    issues.flatMap((issue) => [issue.message, ...('errors' in issue ? issue.errors.flatMap(flat) : [])]);
  return values.flatMap((value) => flat(schema.safeParse(value, { error: wordsFor }).error?.issues ?? []));
}

/** What pages never cause: they build these values themselves, and no field shows them. */
const unmet = [
  /^must be (?:me|http)$/,
  /cursor/,
  /milliseconds/,
  /base64url/,
  /must be \d+ bytes/,
  /lower case letters, digits and _/,
];

test('what any form of the hub can have refused has Romanian words', async () => {
  const routes = await routesOfPages();
  assert.ok(routes.length > 100, String(routes.length));
  const said = new Set(routes.flatMap(partsOf).flatMap((schema) => [...ownSentences(schema), ...sentencesFor(schema)]));
  const met = [...said].filter((sentence) => !unmet.some((pattern) => pattern.test(sentence)));
  assert.deepEqual(
    met.filter((sentence) => !reasonOf(sentence)),
    [],
  );
});

/** Stands in Romanian sentences as it is: names, forms and values. */
const params = {
  least: 2,
  most: 64,
  limit: 5,
  status: 404,
  used: 3,
  field: 'hour',
  item: '25',
  example: 'X',
  other: 'Y',
};

test('no Romanian sentence is English, and each of its parameters comes from the API', () => {
  const english = /\b(?:the|must|is|at least|at most|required|not|of|with|has|have|and|this|than)\b/i;
  for (const [code, own] of Object.entries(reasonsRo)) {
    const sentence = reasons[code as keyof typeof reasons];
    const given = [...sentence.matchAll(/\{([a-z]+)\}/g)].map(([, name = '']) => name);
    const known: Record<string, string | number> = { ...params };
    const words =
      typeof own === 'function' ? own(Object.fromEntries(given.map((name) => [name, known[name] ?? 'Z']))) : own;
    assert.doesNotMatch(words, english, code);
    assert.doesNotMatch(words, /undefined|NaN/, code);
    assert.notEqual(words, sentence, code);
  }
});

test('a field shows its reason in the language of the person, and an unknown one as the API says it', () => {
  const known = {
    fieldErrors: { name: ['must have at most 120 characters'], 'types.1': ['is odd'] },
    reasons: { name: [{ code: 'too_long', params: { most: 120 } }], 'types.1': [{ code: 'of_later', params: {} }] },
  } as unknown as Details;
  const odd = { 'types.1': 'is odd', types: 'is odd' };
  assert.deepEqual(fieldsOf(known, ro), { name: 'Poate avea cel mult 120 de caractere.', ...odd });
  assert.deepEqual(fieldsOf(known, en), { name: 'must have at most 120 characters', ...odd });
});

test('a field some of whose sentences have no words shows all of them as the API says them', () => {
  const half: Details = {
    fieldErrors: { name: ['must have at most 120 characters', 'is odd'] },
    reasons: { name: [{ code: 'too_long', params: { most: 120 } }] },
  };
  assert.deepEqual(fieldsOf(half, ro), { name: 'must have at most 120 characters; is odd' });
  assert.equal(detailOf(half, ro, ''), 'name: must have at most 120 characters; is odd.');
});

test('what no form draws is told with the name of each field, and none vanishes for want of words', () => {
  const message = 'tz: is required; odd: is odd';
  const details: Details = {
    fieldErrors: { tz: ['is required'], odd: ['is odd'], body: ['must be an object'] },
    reasons: { tz: [{ code: 'required', params: {} }], body: [{ code: 'not_object', params: {} }] },
  };
  assert.equal(detailOf(details, ro, message), 'tz: Lipsește. odd: is odd. Trebuie să fie un obiect JSON.');
  assert.equal(detailOf(details, en, message), message);
});

test('what a limit refuses is told in the language of the person, with its numbers', () => {
  const message = 'this account may have 20 webhooks, and has 3; delete one';
  const full: Details = { reasons: { body: [reasonOf(message)].filter((one) => one !== undefined) } };
  assert.equal(detailOf(full, ro, message), 'Limita este 20, folosit este 3.');
  assert.equal(detailOf(full, en, message), message);
});
