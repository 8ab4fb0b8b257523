import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSettings, settingsFileName } from './config.file.ts';
import { type Config, type Given, loadConfig, loadPlace, unknownSettings } from './config.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { findDataDir } from './postgres/datadir.ts';
import { readIfThere } from './postgres/lock.ts';
import { isAdopted, refuseForeign } from './config.foreign.ts';

/** The settings, and what is to be said of where they were found. */
interface ReadConfig {
  config: Config;
  dataDir: string;
  warnings: string[];
}

/**
 * Flags win over the environment, which wins over the settings file of the data dir, and that over what `running` tells of the
 * platform that runs there.
 */
export function readConfig(flags: Given, running: (dataDir: string) => Given = () => ({})): ReadConfig {
  const dataDir = findDataDir(loadPlace(flags));
  const file = join(dataDir, settingsFileName);
  refuseForeign(file);
  const text = readSettings(file);
  if (text === undefined) return { config: loadConfig(flags, undefined, running(dataDir)), dataDir, warnings: [] };
  const kept = parseSettings(text, file);
  const warnings = unknownSettings(kept).map((name) => `${name} in ${file} is no setting of this version`);
  // The platform's group reads a file of root's there.
  const others = isAdopted(statSync(dataDir)) ? 0o037 : 0o077;
  if ((statSync(file).mode & others) !== 0) warnings.push(`other users can read ${file}: chmod 600 it`);
  // The place is settled: a database that the file names does not move it.
  return {
    config: loadConfig({ ...flags, SVC_DATA_DIR: dataDir }, undefined, { ...running(dataDir), ...kept }),
    dataDir,
    warnings,
  };
}

/** The file's text, if it is there. */
function readSettings(file: string): string | undefined {
  try {
    return readIfThere(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    throw new CommandError(
      `this user may not enter ${dirname(file)}; run it as its owner, or name another with --data-dir`,
    );
  }
}
