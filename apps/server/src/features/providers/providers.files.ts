import { mkdirSync, lstatSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { showToPlatform } from '../../root/user.ts';

/** Writes JSON that no reader ever sees half of, for its owner alone. */
export function writeWhole(path: string, content: object): void {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}.new`;
  writeFileSync(unfinished, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
  showToPlatform(unfinished, lstatSync(path, { throwIfNoEntry: false }));
  renameSync(unfinished, path);
}
