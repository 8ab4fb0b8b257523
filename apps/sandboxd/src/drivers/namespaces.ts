import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where kernels and distributions switch user namespaces off for ordinary users: the value that does, and one that allows them. */
const switches = [
  { name: 'kernel.unprivileged_userns_clone', off: 0, on: 1 },
  { name: 'kernel.apparmor_restrict_unprivileged_userns', off: 1, on: 0 },
  { name: 'user.max_user_namespaces', off: 0, on: 15_000 },
];

/** Which settings of this kernel keep user namespaces away, and the command of root that allows them, in one sentence. */
export async function namespaceAdvice(root = '/proc/sys'): Promise<string> {
  const read = ({ name }: { name: string }): Promise<string> =>
    readFile(join(root, name.replaceAll('.', '/')), 'utf8').catch(() => '');
  const found = await Promise.all(switches.map(async (each) => ({ ...each, text: (await read(each)).trim() })));
  const closed = found.filter(({ off, text }) => text === String(off));
  // A container's own filter of system calls, for one, is no setting of the kernel.
  if (closed.length === 0) return 'user namespaces are not allowed here, by none of the usual settings of the kernel';
  const values = closed.map(({ name, on }) => `${name}=${on}`).join(' ');
  return `user namespaces are not allowed here; root allows them: sysctl -w ${values}`;
}
