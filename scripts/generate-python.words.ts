/** `two-words` and `two_words` as `TwoWords`. */
export const pascal = (text: string): string =>
  text.replace(/(?:^|[_.-])(\w)/g, (_, first: string) => first.toUpperCase());
/** Words that Python keeps to itself. */
const kept = new Set([
  'from',
  'import',
  'class',
  'global',
  'in',
  'is',
  'lambda',
  'pass',
  'not',
  'with',
  'async',
  'await',
]);
/** `twoWords` as `two_words`; a word of Python's own gets an underscore. */
export const snake = (text: string): string => {
  const name = text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
  return kept.has(name) ? `${name}_` : name;
};
/** A text as a docstring. */
export const doc = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, "'").replace(/\.?$/, '.');
