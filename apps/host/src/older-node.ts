// Functions that the daemon uses and Node.js 20 lacks. The pinned version has all of them.
type Loose = Record<string, unknown>;

/**
 * `RegExp.escape` of the proposal: what is no letter or digit is written by its number, and so is a first letter or digit. By
 * units of UTF-16: a pattern without the flag `u` takes `\u{61}` for 61 times the letter u.
 */
export function escapeOfOlder(text: string): string {
  return text.replace(/^[0-9a-z]|[^0-9a-z]/gi, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const missing: [object: object, name: string, value: unknown][] = [
  [
    Promise,
    'withResolvers',
    function withResolvers() {
      let resolve: unknown;
      let reject: unknown;
      const promise = new Promise((...both) => {
        [resolve, reject] = both;
      });
      return { promise, resolve, reject };
    },
  ],
  [RegExp, 'escape', escapeOfOlder],
];
for (const [object, name, value] of missing) (object as Loose)[name] ??= value;
