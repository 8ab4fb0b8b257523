import { execFileSync } from 'node:child_process';
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { PastFault } from './past.ts';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../../..');

/** Folders with packages of their own: `node_modules` of a workspace. */
const workspaces = ['apps/server', 'apps/sandboxd', 'apps/host', 'e2e/clients'];

/** A copy of the repository that faults are put into. */
export interface Tree extends Disposable {
  readonly dir: string;
  /** Puts a fault in until it is disposed of. Throws when its text does not stand there exactly once. */
  readonly put: (fault: PastFault) => Disposable;
}

/** How often a fault's text stands in its file. */
export function occurrences({ file, find }: Pick<PastFault, 'file' | 'find'>, dir: string = root): number {
  return existsSync(join(dir, file)) ? readFileSync(join(dir, file), 'utf8').split(find).length - 1 : 0;
}

/** Copies what git knows or would add. Packages are linked, those of the repository to the copy itself. */
export function openTree(): Tree {
  const dir = mkdtempSync(join(tmpdir(), 'svc-torture-past-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of listed.toString().split('\0')) {
    if (file === '' || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    copyFileSync(join(root, file), join(dir, file), constants.COPYFILE_FICLONE);
  }
  linkPackages(dir);
  return {
    dir,
    put(fault) {
      const found = occurrences(fault, dir);
      if (found !== 1) throw new Error(`${fault.name}: its text stands ${found} times in ${fault.file}`);
      const path = join(dir, fault.file);
      const whole = readFileSync(path, 'utf8');
      writeFileSync(path, whole.split(fault.find).join(fault.replace));
      return { [Symbol.dispose]: () => writeFileSync(path, whole) };
    },
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function linkPackages(dir: string): void {
  const modules = join(root, 'node_modules');
  mkdirSync(join(dir, 'node_modules/@svc'), { recursive: true });
  for (const name of readdirSync(modules)) {
    // A cache of compiled code of its own would be thrown away each time.
    if (name !== '@svc') symlinkSync(join(modules, name), join(dir, 'node_modules', name));
  }
  for (const name of readdirSync(join(modules, '@svc'))) {
    const place = ['packages', 'apps', 'e2e'].map((parent) => join(dir, parent, name)).find((path) => existsSync(path));
    if (place !== undefined) symlinkSync(place, join(dir, 'node_modules/@svc', name));
  }
  for (const workspace of workspaces) {
    const own = join(root, workspace, 'node_modules');
    if (existsSync(own)) symlinkSync(own, join(dir, workspace, 'node_modules'));
  }
}
