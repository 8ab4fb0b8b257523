import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';

/** A Linux user as the machine knows it. */
export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
  comment: string;
  home: string;
  shell: string;
}

/** What changes Linux users; each call throws when the machine refuses. */
export interface UserSystem {
  /** Undefined: there is none of that name. */
  find(name: string): Promise<SystemUser | undefined>;
  /** With a home and a shell; no password lets it in. */
  create(name: string, comment: string): Promise<void>;
  /** Nobody comes in as it any more; its home stays. */
  lock(name: string): Promise<void>;
  unlock(name: string): Promise<void>;
  /** Makes `authorized_keys` hold this key alone; without one it is removed. */
  writeKey(user: SystemUser, key: string | null): Promise<void>;
}

const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
const commandMs = 30_000;
const shells = ['/bin/bash', '/bin/sh'];

/**
 * Run as the user and not as root: what stands in a home is the user's, and a link there must not lead root to other files. A
 * key comes to its place whole.
 */
const keyScript = `set -eu
umask 077
cd "$HOME"
mkdir -p .ssh
chmod 700 .ssh
if [ "$1" = remove ]; then rm -f .ssh/authorized_keys; exit; fi
new=$(mktemp .ssh/authorized_keys.XXXXXX)
cat > "$new"
chmod 600 "$new"
mv -f "$new" .ssh/authorized_keys`;

/** The machine that this process runs on, for root. */
export const linuxUsers: UserSystem = {
  async find(name) {
    const line = await run('getent', ['passwd', name]).catch(() => '');
    const [found, , uid, gid, comment = '', home = '', shell = ''] = line.trim().split(':');
    if (found !== name) return undefined;
    return { name, uid: Number(uid), gid: Number(gid), comment, home, shell };
  },
  async create(name, comment) {
    const shell = shells.find((path) => existsSync(path)) ?? '/bin/sh';
    // A `*` is a password that nothing matches. Locked, as useradd leaves it, some ssh servers would refuse keys too.
    await run('useradd', ['-m', '-s', shell, '-c', comment, '-p', '*', name]);
  },
  // Beside the password, which is none: a server lets no key in once the account has expired.
  lock: async (name) => void (await run('usermod', ['-L', '-e', '1', name])),
  unlock: async (name) => void (await run('usermod', ['-p', '*', '-e', '', name])),
  async writeKey({ name, uid, gid, home }, key) {
    const script = ['-c', keyScript, 'sh', key === null ? 'remove' : 'write'];
    await run('/bin/sh', script, { uid, gid, home, name, input: key === null ? '' : `${key}\n` });
  },
};

interface As {
  uid: number;
  gid: number;
  home: string;
  name: string;
  input: string;
}

async function run(file: string, args: readonly string[], as?: As): Promise<string> {
  const own = as && { uid: as.uid, gid: as.gid };
  const env = as ? { ...environment, HOME: as.home, USER: as.name, LOGNAME: as.name } : environment;
  const child = spawn(file, args, { cwd: '/', env, ...own, timeout: commandMs, killSignal: 'SIGKILL' });
  child.stdin.on('error', () => {}).end(as?.input);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [said, why, code] = await Promise.all([readAll(child.stdout), readAll(child.stderr), closed]);
  if (code === 0) return said;
  throw new Error(`${file}: ${why.trim().split('\n', 1)[0] || `exit code ${code}`}`);
}
