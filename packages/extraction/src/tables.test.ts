import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { content, readBody } from './testing.ts';
import { SpanRoom } from './walk.spans.ts';

const rowsOf = async (table: string): Promise<string[]> => content(await readBody(`<main>${table}</main>`)).split('\n');

test('a value that covers many rows is counted once, also where it has no room', () => {
  let counted = 0;
  const run = {
    get text(): string {
      counted += 1;
      return 'x';
    },
  };
  const room = new SpanRoom();
  const runs = Array.from({ length: 8_000 }, () => run);
  for (let row = 0; row < 100; row += 1) assert.equal(room.take(runs), false);
  assert.equal(counted, 8_000);
});

describe('a table whose cells cover others', () => {
  const towns = `<table><tr><th>Town<th>Year<th>Houses
    <tr><td rowspan=2>Cluj<td>2019<td>7<tr><td>2020<td>8
    <tr><td rowspan=0>Iași<td colspan=2>closed<tr><td>2021<td>9</table>`;

  test('has each value in the rows and columns that it covers, in each format', async () => {
    assert.deepEqual(await rowsOf(towns), [
      'Town\tYear\tHouses',
      'Cluj\t2019\t7',
      'Cluj\t2020\t8',
      'Iași\tclosed\tclosed',
      'Iași\t2021\t9',
    ]);
    const page = await readBody(`<main>${towns}</main>`);
    assert.ok(content(page, 'markdown').includes('| Cluj | 2020 | 8 |\n'));
    assert.ok(content(page, 'html').includes('<tr><td>Cluj</td><td>2020</td><td>8</td></tr>'));
  });

  test('has one row of heads, of all that stand over a column, and its title above', async () => {
    const table = (open: string, close: string): string =>
      `<table>${open}<tr><th colspan=5>Sales<tr><th rowspan=2>Town<th colspan=2>2023<th colspan=2>2024
      <tr><th>Q1<th>Q2<th>Q1<th>Q2${close}<tr><td>Cluj<td>1<td>2<td>3<td>4
      <tr><th colspan=5>Abroad<tr><td>Wien<td>5<td>6<td>7<td>8</table>`;
    for (const [open, close] of [
      ['<thead>', '</thead><tbody>'],
      ['', ''],
    ] as const)
      assert.deepEqual(await rowsOf(table(open, close)), [
        'Sales',
        '',
        'Town\t2023 Q1\t2023 Q2\t2024 Q1\t2024 Q2',
        'Cluj\t1\t2\t3\t4',
        'Abroad',
        'Wien\t5\t6\t7\t8',
      ]);
  });

  test('leaves a gap below what a shorter row does not reach', async () => {
    assert.deepEqual(await rowsOf('<table><tr><td>a<td>b<td rowspan=2>c<tr><td>d<tr><td>e<td>f<td>g</table>'), [
      'a\tb\tc',
      'd\t\tc',
      'e\tf\tg',
    ]);
  });

  const heads = '<tr><th>A<th>B<th>C';
  for (const [what, rows, wanted] of [
    ['a cell that covers rows first', `${heads}<tr><td rowspan=2>x<td>1<td>2<tr><td>3<td>4`, ['x\t1\t2', 'x\t3\t4']],
    ['in the middle', `${heads}<tr><td>x<td rowspan=2>m<td>2<tr><td>y<td>4`, ['x\tm\t2', 'y\tm\t4']],
    ['last', `${heads}<tr><td>x<td>m<td rowspan=2>z<tr><td>y<td>4`, ['x\tm\tz', 'y\t4\tz']],
    ['a block', `${heads}<tr><td colspan=2 rowspan=2>x<td>1<tr><td>2`, ['x\tx\t1', 'x\tx\t2']],
    ['rows past the end', `${heads}<tr><td rowspan=9>x<td>1<td>2<tr><td>3<td>4`, ['x\t1\t2', 'x\t3\t4']],
    ['a billion rows', `${heads}<tr><td rowspan=1000000000>x<td>1<td>2<tr><td>3<td>4`, ['x\t1\t2', 'x\t3\t4']],
    ['a billion columns', `${heads}<tr><td>x<td colspan=1000000000>y<tr><td>1<td>2<td>3`, ['x\ty\ty', '1\t2\t3']],
    ['no number', `${heads}<tr><td rowspan=-2>x<td colspan=1e9>y<td colspan=0>z`, ['x\ty\tz']],
    ['a sign and spaces', `${heads}<tr><td rowspan=" +2">x<td>1<td>2<tr><td>3<td>4`, ['x\t1\t2', 'x\t3\t4']],
    ['an empty cell over rows', `${heads}<tr><td rowspan=2><td>1<td>2<tr><td>3<td>4`, ['\t1\t2', '\t3\t4']],
    ['a cell in the way of another', `${heads}<tr><td>a<td rowspan=2>b<td>c<tr><td colspan=2>x`, ['a\tb\tc', 'x\tb']],
    ['a note over all columns', `${heads}<tr><td>1<td>2<td>3<tr><td colspan=9>note`, ['1\t2\t3', 'note']],
    ['a sum in the foot', `${heads}<tr><td>1<td>2<td>3<tfoot><tr><td colspan=2>Sum<td>3`, ['1\t2\t3', 'Sum\tSum\t3']],
    [
      'a row without cells',
      `${heads}<tr><td rowspan=2>x<td rowspan=2>y<td rowspan=2>z<tr></tr><tr><td>1`,
      ['x\ty\tz', '1'],
    ],
  ] as const)
    test(`has its values where a browser has them: ${what}`, async () =>
      assert.deepEqual(await rowsOf(`<table>${rows}</table>`), ['A\tB\tC', ...wanted]));

  for (const [what, rows, wanted] of [
    [
      'ends with its part',
      '<tbody><tr><th>A<th>B<tr><td rowspan=5>x<td>1<tbody><tr><td>y<td>3',
      ['A\tB', 'x\t1', 'y\t3'],
    ],
    ['has columns that no cell begins in', '<tr><th colspan=2>A<th>B<tr><td colspan=2>x<td>1', ['A\tB', 'x\t1']],
    [
      'says one head twice',
      '<thead><tr><th colspan=2>Y<th>Z<tr><th>Y<th>b<th>c<tbody><tr><td>1<td>2<td>3',
      ['Y\tY b\tZ c', '1\t2\t3'],
    ],
  ] as const)
    test(`is read where it ${what}`, async () => assert.deepEqual(await rowsOf(`<table>${rows}</table>`), wanted));

  test('loses no cell of a row that is too wide', async () => {
    const cells = Array.from({ length: 3_000 }, (_, n) => `<td colspan=999>c${n}`).join('');
    const [row = ''] = await rowsOf(`<table><caption>c</caption><tr>${cells}</table>`).then((lines) => lines.slice(-1));
    assert.equal(row.split('\t').length, 3_000);
  });

  for (const [what, rows] of [
    ['cells and rows', '<caption>Sales<colgroup><col><tr><th>A<th>B<tr><td><b>x<th>1<tr><td><ul><li>y<td>2'],
    ['its parts', '<caption>Sales<thead><tr><th>A<th>B<tbody><tr><td>x<td>1<tfoot><tr><td>y<td>2'],
  ] as const)
    test(`is read where its page leaves ${what} open`, async () =>
      assert.deepEqual(await rowsOf(`<table>${rows}</table>`), ['Sales', '', 'A\tB', 'x\t1', 'y\t2']));

  test('stays small whatever numbers and texts it has', async () => {
    const long = 'word '.repeat(20_000);
    for (const table of [
      `<tr><td rowspan=65534 colspan=1000>x<td>y${'<tr><td>z'.repeat(5_000)}`,
      `<tr>${'<td colspan=1000 rowspan=65534>x'.repeat(1_000)}${'<tr><td>z'.repeat(5_000)}`,
      `<tr><td rowspan=65534>${long}<td>y${'<tr><td>z'.repeat(5_000)}`,
      `<tr>${'<td>x'.repeat(10_000)}${'<tr><td>z'.repeat(5_000)}`,
    ]) {
      const page = await readBody(`<main><table><caption>c</caption>${table}</table></main>`);
      const { blocks } = page;
      const cells = blocks.flatMap((block) => (block.type === 'table' ? block.rows.flat() : []));
      const units = cells.flat().reduce((sum, { text }) => sum + text.length, 0);
      assert.ok(cells.length < 100_000 && units < 800_000, `${cells.length} ${units}`);
      for (const format of ['text', 'markdown', 'html'] as const) assert.ok(content(page, format).length <= 1_000_000);
    }
  });
});
