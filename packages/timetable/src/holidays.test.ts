import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Holidays from 'date-holidays';
import { romanianHolidays } from './index.ts';

describe('Romanian holidays', () => {
  test('are the public ones that date-holidays has, for every year from 2024 to 2100', () => {
    const reference = new Holidays('RO');
    for (let year = 2024; year <= 2100; year += 1) {
      const expected = reference
        .getHolidays(year)
        .filter(({ type }) => type === 'public')
        .flatMap(({ date }) =>
          date.slice(5, 10) === '01-01' ? [`${year}-01-01`, `${year}-01-02`] : [date.slice(0, 10)],
        );
      assert.deepEqual(
        romanianHolidays(year).map(({ date }) => date),
        expected,
      );
    }
  });

  test('are 17 a year, named, also when two share a date', () => {
    const holidays = romanianHolidays(2026);
    assert.equal(holidays.length, 17);
    assert.deepEqual(
      holidays.filter(({ date }) => date === '2026-06-01').map(({ name }) => name),
      ['Ziua Copilului', 'A doua zi de Rusalii'],
    );
    assert.deepEqual(
      holidays.filter(({ name }) => name.includes('Paște')).map(({ date }) => date),
      ['2026-04-12', '2026-04-13'],
    );
  });
});
