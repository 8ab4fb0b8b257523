import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingFlags } from '../apps/server/src/config.ts';
import { openApiDocument } from '../apps/server/src/kernel/openapi.ts';
import { root } from './rules/repository.ts';

/** Writes what is derived from code: the OpenAPI document and the table of settings. `--check` only compares. */
const settings = settingFlags().map(
  ({ name, flag, description, default: value }) =>
    `| \`${name}\` | \`${flag}\` | ${value && `\`${value}\``} | ${description} |`,
);
const files: Record<string, string> = {
  'apps/server/openapi.json': `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
  'docs/settings.md': `# Settings

Environment variables, or flags of the same name that win over them. A malformed one stops the start with a line that
names it. Generated from \`apps/server/src/config.ts\` by \`npm run generate\`.

| name | flag | default | meaning |
|---|---|---|---|
${settings.join('\n')}
`,
};

const check = process.argv.includes('--check');
for (const [path, text] of Object.entries(files)) {
  const file = join(root, path);
  if (!check) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is out of date; run: npm run generate`);
    process.exitCode = 1;
  }
}
