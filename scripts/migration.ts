import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './rules/repository.ts';

/** `npm run migration <feature> <what>`: makes an empty migration with the next number. Gaps between numbers are fine. */
const [feature = '', what = ''] = process.argv.slice(2);
const folder = join(root, 'apps/server/migrations');
const isFeature = feature === 'kernel' || existsSync(join(root, 'apps/server/src/features', feature, 'README.md'));
if (!isFeature || !/^[a-z][a-z0-9_]*$/.test(what)) {
  console.error('usage: npm run migration <feature> <what>, such as: npm run migration keys add_colour');
  process.exit(2);
}
const numbers = readdirSync(folder).map((file) => Number.parseInt(file, 10));
const name = `${String(Math.max(...numbers) + 1).padStart(4, '0')}.${feature}.${what}.sql`;
writeFileSync(join(folder, name), '-- additive\n-- Why: \n', { flag: 'wx' });
console.log(join('apps/server/migrations', name));
