import type { Element } from './dom.ts';

const sections = new Set(['thead', 'tbody', 'tfoot']);
const inCells = new Set(['table', 'h1', 'h2', 'h3', 'pre', 'form', 'blockquote', 'article', 'section', 'iframe', 'hr']);

const elementsIn = (element: Element): Element[] => element.children.filter((child) => typeof child !== 'string');

/** Rows, with the part that each stands in. */
function rowElements(table: Element): { row: Element; isHead: boolean }[] {
  return elementsIn(table).flatMap((child) => {
    if (child.tag === 'tr') return [{ row: child, isHead: false }];
    if (!sections.has(child.tag)) return [];
    const rows = elementsIn(child).filter(({ tag }) => tag === 'tr');
    return rows.map((row) => ({ row, isHead: child.tag === 'thead' }));
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

/** Cells of a data table. The first row names the columns when it stands in `<thead>` or has `<th>` only. */
export function rowsOf(table: Element): { caption: Element | undefined; header: boolean; rows: Element[][] } {
  const caption = elementsIn(table).find(({ tag }) => tag === 'caption');
  const all = rowElements(table).map(({ row, isHead }) => ({ cells: cellsIn(row), isHead }));
  const rows = all.filter(({ cells }) => cells.length > 0);
  const [first] = rows;
  const header = first !== undefined && (first.isHead || first.cells.every(({ tag }) => tag === 'th'));
  return { caption, header, rows: rows.map(({ cells }) => cells) };
}
