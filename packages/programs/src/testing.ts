import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { bundledName } from './index.ts';

const clone = resolve(import.meta.dirname, '../../..');

/**
 * The file that a test starts as a program of the product: of the bundle that the run made (`scripts/test.ts`), else
 * the source.
 */
export function testedProgram(source: string): string {
  const folder = process.env['SVC_TEST_BUNDLE'];
  if (!folder) return source;
  const bundled = join(folder, bundledName(relative(clone, source)));
  return existsSync(bundled) ? bundled : source;
}
