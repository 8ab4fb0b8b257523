// What each unit of work costs the database: statements, messages of the bus, rows and bytes of its log, counted on a server of
// its own. `costs.json` has a budget for each; one that is passed ends with 1.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { openDataDir } from '../apps/server/src/postgres/datadir.ts';
import { ensurePostgres, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { type Cost, costOf, lookAt } from './lib/costs.ts';
import { temporaryDataDir } from './lib/platform.ts';
import { openStage } from './lib/stage.ts';
import { minutes, units } from './lib/units.ts';
import { openWire } from './lib/wire.ts';

const { values: options } = parseArgs({
  options: {
    times: { type: 'string', default: '5' },
    only: { type: 'string' },
    /** Prints the statements of each unit. */
    statements: { type: 'boolean', default: false },
    /** Makes what was counted the budgets. */
    store: { type: 'boolean', default: false },
  },
});
const file = join(import.meta.dirname, 'costs.json');
/** Of bytes, as where a row lies and when a page is pruned is another thing each time; and of minutes, as are their jobs. */
const air = 1.1;
const kinds = ['statements', 'messages', 'rows', 'wal'] as const;

using folder = temporaryDataDir();
const dataDir = openDataDir({ dataDir: folder.path, databaseUrl: undefined });
const postgres = await ensurePostgres(dataDir);
const counted: Record<string, Cost> = {};

/** Counts units on a gateway and a database of their own. */
async function countAll(database: string, all: typeof units, times: number): Promise<void> {
  const admin = openDatabase({ embedded: postgres, database: 'postgres' }, 1);
  await admin.unsafe(`create database ${database}`);
  await admin.end({ timeout: 1 });
  await using wire = await openWire(postgres);
  await using stage = await openStage(wire, { embedded: { ...postgres, socketDir: wire.socketDir }, database });
  const own = openDatabase({ embedded: postgres, database }, 1);
  for (const [name, unit] of Object.entries(all)) {
    if (options.only !== undefined && !name.includes(options.only)) continue;
    const { asked, ...cost } = await costOf(stage, unit, times, lookAt(own, stage));
    counted[name] = cost;
    process.stderr.write(`${name}: ${kinds.map((kind) => `${cost[kind]} ${kind}`).join(', ')}\n`);
    if (options.statements) for (const text of asked) process.stderr.write(`    ${text.slice(0, 150)}\n`);
  }
  await own.end({ timeout: 1 });
}

try {
  const admin = openDatabase({ embedded: postgres, database: 'postgres' }, 1);
  // Nothing but what is counted writes: no vacuum, no checkpoint, and no image of a page after one.
  for (const setting of [
    'autovacuum = off',
    'full_page_writes = off',
    "checkpoint_timeout = '1d'",
    "max_wal_size = '8GB'",
  ])
    await admin.unsafe(`alter system set ${setting}`);
  await admin`select pg_reload_conf()`;
  await admin.end({ timeout: 1 });
  await countAll('units', units, Number(options.times));
  await countAll('minutes', minutes, 2);
} finally {
  await stopPostgres(postgres);
}

const known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Cost>;
if (options.store) {
  writeFileSync(file, `${JSON.stringify({ ...known, ...counted }, null, 2)}\n`);
} else {
  for (const [name, cost] of Object.entries(counted)) {
    for (const kind of kinds) {
      const budget = known[name]?.[kind] ?? 0;
      const hasAir = kind === 'wal' || name in minutes;
      const most = hasAir ? Math.ceil(budget * air) : budget;
      if (cost[kind] <= most) continue;
      process.stdout.write(`${name}: ${cost[kind]} ${kind}, and its budget is ${most}\n`);
      process.exitCode = 1;
    }
  }
}
