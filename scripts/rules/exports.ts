import { importsOf, isTest, type Source, type Violation } from './source.ts';

const exported = /^export\s+(?:async\s+|abstract\s+)*(?:function\*?|const|class|interface|type|enum)\s+(\w+)/gm;
const exportedType = /^export\s+(?:abstract\s+)?(?:interface|type|class)\s+(\w+)/gm;
const named = /(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/g;
const namedLater = /const\s+\{([^}]*)\}\s*=\s*await\s+import\('([^']+)'\)/g;

/** The names that other files import from each file; `*` where all of it is taken. */
function readersOf(sources: readonly Source[]): Map<string, Set<string>> {
  const read = new Map<string, Set<string>>();
  const note = (path: string, name: string) => read.set(path, (read.get(path) ?? new Set()).add(name));
  for (const source of sources) {
    const { path, text } = source;
    const taken = new Set<string>();
    for (const [, names = '', specifier = ''] of [...text.matchAll(named), ...text.matchAll(namedLater)]) {
      if (!specifier.startsWith('.')) continue;
      const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
      taken.add(target);
      for (const name of names.split(','))
        note(
          target,
          name
            .trim()
            .replace(/^type\s+/, '')
            .split(/\s+as\s+|\s*:/)[0] ?? '',
        );
    }
    // Whole modules: `import * as`, and dynamic ones without names.
    for (const { target } of importsOf(source)) if (target !== undefined && !taken.has(target)) note(target, '*');
  }
  return read;
}

/**
 * An export of an app has a reader in another file, and the name of an exported type or class of the server stands in one file.
 * `entries` are what package.json files name: their readers are elsewhere.
 */
export function checkExports(sources: readonly Source[], entries: ReadonlySet<string>): Violation[] {
  const read = readersOf(sources);
  const product = sources.filter(({ path }) => path.startsWith('apps/') && path.endsWith('.ts') && !isTest(path));
  const unread = product.flatMap(({ path, text }) => {
    const names = read.get(path);
    if (entries.has(path) || names?.has('*')) return [];
    const lone = [...text.matchAll(exported)].filter(([, name = '']) => !names?.has(name));
    return lone.map(([, found = '']) => ({ path, rule: 'an export has a reader', found }));
  });
  const types = new Map<string, string>();
  const twice = product.flatMap(({ path, text }) => {
    if (!path.startsWith('apps/server/')) return [];
    return [...text.matchAll(exportedType)].flatMap(([, name = '']) => {
      const first = types.get(name);
      types.set(name, first ?? path);
      return first === undefined
        ? []
        : [{ path, rule: `a type's name stands in one file`, found: `${name}, also in ${first}` }];
    });
  });
  return [...unread, ...twice];
}
