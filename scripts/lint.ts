import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { checkMigrationRules } from './rules/migrations.ts';
import { entries, machines, paths, readSources, releases, root, verbs } from './rules/repository.ts';
import { checkAll } from './rules/rules.ts';

/** Format, types, lint and the rules of ARCHITECTURE.md. Exits 1 when any finds a fault. */
const bin = (name: string): string => join(root, 'node_modules/.bin', name);
const steps: [string, string[]][] = [
  [bin('biome'), ['format', '.']],
  [bin('tsc'), ['-p', '.']],
  [bin('tsc'), ['-p', 'apps/hub']],
  [bin('tsc'), ['-p', 'apps/hub/tsconfig.worker.json']],
  [bin('oxlint'), ['--type-aware', '.']],
];
let failed = false;
for (const [command, options] of steps) {
  failed = spawnSync(command, options, { cwd: root, stdio: 'inherit' }).status !== 0 || failed;
}
const sources = readSources();
const found = [...checkAll(sources, verbs, paths, machines, entries), ...checkMigrationRules(sources, releases)];
for (const { path, rule, found: what } of found) {
  console.error(`${path}: ${rule}: ${what}`);
  failed = true;
}
process.exit(failed ? 1 : 0);
