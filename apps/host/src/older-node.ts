// Functions that the daemon uses and Node.js 20 lacks. The pinned version has all of them.
type Loose = Record<string, unknown>;

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
  // Of the proposal: what is no letter or digit is written by its number, and so is a first letter or digit.
  [
    RegExp,
    'escape',
    (text: string) =>
      text.replace(/^[0-9a-z]|[^0-9a-z]/giu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`),
  ],
];
for (const [object, name, value] of missing) (object as Loose)[name] ??= value;
