import type { Run } from './blocks.ts';
import type { Element } from './dom.ts';
import { type Cell, joinHeads, type SpanRoom, spread } from './walk.spans.ts';

const sections = new Set(['thead', 'tbody', 'tfoot']);
const inCells = new Set(['table', 'h1', 'h2', 'h3', 'pre', 'form', 'blockquote', 'article', 'section', 'iframe', 'hr']);

const elementsIn = (element: Element): Element[] => element.children.filter((child) => typeof child !== 'string');

/** Rows, with the part that each stands in. */
function rowElements(table: Element): { row: Element; group: Element; isHead: boolean }[] {
  return elementsIn(table).flatMap((child) => {
    if (child.tag === 'tr') return [{ row: child, group: table, isHead: false }];
    if (!sections.has(child.tag)) return [];
    const rows = elementsIn(child).filter(({ tag }) => tag === 'tr');
    return rows.map((row) => ({ row, group: child, isHead: child.tag === 'thead' }));
  });
}

const cellsIn = (row: Element): Element[] => elementsIn(row).filter(({ tag }) => tag === 'td' || tag === 'th');

function has(element: Element, tags: ReadonlySet<string>): boolean {
  return elementsIn(element).some((child) => tags.has(child.tag) || has(child, tags));
}

/** Whether a table holds data: one that lays out a page is read as what stands in it. */
export function isDataTable(table: Element): boolean {
  const { role } = table.attributes;
  if (role === 'presentation' || role === 'none') return false;
  const rows = rowElements(table).map(({ row }) => cellsIn(row));
  const columns = Math.max(0, ...rows.slice(0, 1000).map((row) => row.length));
  if (columns < 2) return false;
  const cells = rows.flat();
  if (cells.some((cell) => has(cell, inCells))) return false;
  const hasHeader = cells.some(({ tag }) => tag === 'th') || elementsIn(table).some(({ tag }) => tag === 'caption');
  // Long texts side by side are columns of a page.
  return hasHeader || cells.every(({ textLength }) => textLength < 800);
}

/** A data table as it is read. */
interface Read {
  /** What stands above it: its caption, and heads that are over all of its columns. */
  readonly above: readonly (readonly Run[])[];
  /** The first row names the columns. */
  readonly header: boolean;
  readonly rows: readonly (readonly (readonly Run[])[])[];
}

/**
 * A data table, each value in the columns and rows that it covers. The first rows name the columns where they stand in
 * `<thead>` or have `<th>` only; several are joined.
 */
export function readTable(table: Element, room: SpanRoom, inline: (element: Element) => readonly Run[]): Read {
  const caption = elementsIn(table).find(({ tag }) => tag === 'caption');
  const groups: { group: Element; isHead: boolean; cells: Cell[][] }[] = [];
  for (const { row, isHead, group } of rowElements(table)) {
    if (groups.at(-1)?.group !== group) groups.push({ group, isHead, cells: [] });
    groups.at(-1)?.cells.push(cellsIn(row).map((cell) => toCell(cell, inline(cell))));
  }
  const spans = spread(
    groups.map(({ cells }) => cells),
    room,
  );
  const all = groups.flatMap(({ cells, isHead }, n) =>
    cells.map((own, at) => ({
      isHead: isHead || (own.length > 0 && own.every((cell) => cell.isHead)),
      isOwn: own.some(({ runs }) => runs.length > 0),
      ...(spans[n]?.[at] ?? { values: [], isWhole: false }),
    })),
  );
  const rows = all.filter(({ isOwn }) => isOwn);
  const isBody = rows.findIndex(({ isHead }) => !isHead);
  const heads = rows.slice(0, Math.max(isBody, 0));
  // A row of one head below those of the columns parts the table.
  const last = heads.findLastIndex(({ isWhole }) => !isWhole) + 1;
  const named = heads.slice(0, last).filter(({ isWhole }) => !isWhole);
  const titles = heads.slice(0, last).filter(({ isWhole }) => isWhole);
  const head = named.length > 0 ? [joinHeads(named.map(({ values }) => values))] : [];
  return {
    above: [...(caption ? [inline(caption)] : []), ...titles.flatMap(({ values }) => values)],
    header: head.length > 0 || (isBody === -1 && rows.length > 0),
    rows: [...head, ...rows.slice(last).map(({ values }) => values)],
  };
}

function toCell({ tag, attributes }: Element, runs: readonly Run[]): Cell {
  const count = (name: string): number | undefined => {
    const written = /^\s*\+?(\d{1,5})/.exec(attributes[name] ?? '')?.[1];
    return written === undefined ? undefined : Number(written);
  };
  return { runs, isHead: tag === 'th', columns: Math.max(1, count('colspan') ?? 1), rows: count('rowspan') ?? 1 };
}
