import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { shared } from '../../apps/server/src/testing.shared.ts';
import { judges, type Sent } from './judges.ts';
import { openPlatform, type Step, takeSteps } from './platform.ts';

/** What people reported of one row, with where and when they did. */
interface Report {
  row: string;
  what: string;
  source: string;
  date: string;
  cases: (
    | ({ [Part in keyof Sent]: { part: Part; send: Sent[Part] } }[keyof Sent] & { comes: unknown })
    | { steps: Step[] }
  )[];
}

const folder = join(import.meta.dirname, 'rows');
const reports = readdirSync(folder).map((name) => {
  const report = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report;
  assert.match(report.date, /^\d{4}-\d\d-\d\d$/, name);
  assert.ok(report.source !== '' && report.cases.length > 0, name);
  return report;
});

describe('what other people reported of other products', () => {
  const platform = shared(openPlatform);
  for (const { row, what, cases } of reports) {
    test(`${row}: ${what}`, async () => {
      for (const one of cases) {
        if ('steps' in one) await takeSteps(platform, one.steps);
        else {
          const judge = judges[one.part] as (sent: unknown) => unknown;
          assert.deepEqual(judge(one.send), one.comes, JSON.stringify(one.send).slice(0, 300));
        }
      }
    });
  }
});
