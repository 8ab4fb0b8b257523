import { parse } from 'postgres-array';

/**
 * Element types of the arrays in our columns and parameters: type and array type by Postgres' fixed numbers, and how one is read.
 */
const arrays: readonly [oid: number, arrayOid: number, parse: (text: string) => unknown][] = [
  [16, 1000, (text) => text === 't'],
  [20, 1016, String],
  [21, 1005, Number],
  [23, 1007, Number],
  [25, 1009, String],
  [1184, 1185, String],
  [2950, 2951, String],
];

interface Type {
  to: number;
  from: number[];
  parse: (text: string) => unknown;
  serialize: (value: never) => string;
}

/**
 * Arrays, for `types` of postgres.js: their elements are read and written as `elements` says where it does. They are
 * named here because postgres.js would ask each new connection for them (`fetch_types`), and ends the process, by an
 * unhandled rejection, when the connection breaks while it asks.
 */
export function arrayTypes(elements: Record<string, Type>): Record<string, Type> {
  const types = arrays.map(([oid, arrayOid, parseOne]): [string, Type] => {
    const element = Object.values(elements).find(({ from }) => from.includes(oid));
    return [
      `array of ${oid}`,
      {
        to: arrayOid,
        from: [arrayOid],
        parse: (text) => parse(text, element?.parse ?? parseOne),
        serialize: (values: readonly unknown[]) => arrayText(values, element?.serialize ?? String),
      },
    ];
  });
  return Object.fromEntries(types);
}

function arrayText(values: readonly unknown[], serialize: (value: never) => string): string {
  let text = '';
  for (const value of values) text += `${text === '' ? '' : ','}${elementText(value, serialize)}`;
  return `{${text}}`;
}

/** One element. Only a text that holds something to escape meets a regular expression: of 2,000 records each took 6 ms. */
function elementText(value: unknown, serialize: (value: never) => string): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === undefined) throw new TypeError('undefined in an array for the database');
  if (value === null) return 'null';
  if (Array.isArray(value)) return arrayText(value, serialize);
  const text = serialize(value as never);
  return text.includes('"') || text.includes('\\') ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
