/** A source file as the rules see it; `path` is relative to the repository's root. */
export interface Source {
  path: string;
  text: string;
}

/** A broken rule of ARCHITECTURE.md. */
export interface Violation {
  path: string;
  rule: string;
  found: string;
}

export interface Import {
  /** As written. */
  specifier: string;
  /** Repository path of a relative import. */
  target: string | undefined;
  typeOnly: boolean;
}

const importPattern = /^\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

/** The imports of a file, dynamic ones included. */
export function importsOf({ path, text }: Source): Import[] {
  return [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    const target = specifier.startsWith('.') ? new URL(specifier, `file:///${path}`).pathname.slice(1) : undefined;
    return { specifier, target, typeOnly: match[1] !== undefined };
  });
}

/** The feature that a file belongs to. */
export const featureOf = (path: string): string | undefined =>
  /^apps\/server\/src\/features\/([^/]+)\//.exec(path)?.[1];
/** Tests and their helpers: `x.test.ts`, `testing.ts`, `testing.x.ts`, `<feature>.testing.ts`. */
export const isTest = (path: string): boolean => /\.test\.ts$|(?:\/|\.)testing(?:\.\w+)?\.ts$/.test(path);
