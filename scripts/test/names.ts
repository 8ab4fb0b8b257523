import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { declared } from './recorder.ts';

/**
 * Prints the name of every test of the given files, `<file>: <suite>: <test>`, without running one. Arguments: the
 * directory that paths are told from, the files.
 */
const [root = '', ...files] = process.argv.slice(2);
const recorder = pathToFileURL(join(import.meta.dirname, 'recorder.ts')).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'node:test' && context.parentURL !== recorder
      ? { url: recorder, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

const lines: string[] = [];
for (const file of files) {
  await import(pathToFileURL(join(root, file)).href);
  for (const name of declared.splice(0)) lines.push(`${file}: ${name.replaceAll('\n', ' ')}`);
}
process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(0));
