/** Every operation the daemon serves. */
export const opNames = ['shell', 'read_file', 'write_file', 'list_dir', 'stat', 'git_state', 'info'] as const;
export type OpName = (typeof opNames)[number];

/** What the policy says of an operation; only `shell` can be asked about. */
export type Decision = 'allow' | 'ask' | 'refuse';

/** True for the name of an operation the daemon serves. */
export function isOpName(name: string): name is OpName {
  return (opNames as readonly string[]).includes(name);
}
