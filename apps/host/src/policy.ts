import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { type HostOp, hostOpNames, systemText, wordsFor } from '@svc/contract';
import { z } from 'zod';
import { CommandError, errnoOf } from './failure.ts';
import { writePrivate } from './state.ts';

/** Kinds of scheduled runs that a machine can do; `agent` needs a command. */
const runKinds = ['shell', 'http', 'agent'] as const;
const defaultParallel = 4;

/** The policy's decision on an operation; only `shell` can be asked about. */
type Decision = 'allow' | 'ask' | 'refuse';

const decisionOn = (op: HostOp): z.ZodOptional<z.ZodType<Decision>> =>
  z.enum(op === 'shell' ? ['allow', 'ask', 'refuse'] : ['allow', 'refuse']).optional();
const opDecisions = Object.fromEntries(hostOpNames.map((op) => [op, decisionOn(op)])) as Record<
  HostOp,
  ReturnType<typeof decisionOn>
>;
const policyFile = z.strictObject({
  ops: z.strictObject(opDecisions).optional(),
  roots: z.array(z.string().min(1)).min(1).max(32).optional(),
  name: z.string().trim().min(1).max(120).optional(),
  tags: z.array(z.string().min(1).max(60)).max(50).optional(),
  parallel: z.int().min(1).max(1000).optional(),
  kinds: z.array(z.enum(runKinds)).optional(),
  terminal: z.enum(['allow', 'ask', 'refuse']).optional(),
  ports: z.enum(['published', 'loopback', 'refuse']).optional(),
  users: z.boolean().optional(),
  agent: z
    .strictObject({
      command: z.array(systemText).min(1),
      cwd: systemText.optional(),
      env_names: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).optional(),
      ask: z.boolean().optional(),
    })
    .optional(),
});

/** The command that runs an agent's prompt, which it reads from standard input. */
interface AgentPolicy {
  command: string[];
  cwd?: string | undefined;
  env_names?: string[] | undefined;
  /** Only prompts that were approved on this machine are run. */
  ask: boolean;
}

/** The policy of this host for others. */
export interface Policy {
  readonly decisions: Readonly<Record<HostOp, Decision>>;
  /** Real paths (symlinks followed) of the directories that operations reach; the first is where relative paths start. */
  readonly roots: readonly string[];
  /** Name given in the policy file. */
  readonly name: string | undefined;
  /** Labels by which schedules choose machines. */
  readonly tags: readonly string[];
  /** Scheduled runs at once, and as many prompts. */
  readonly parallel: number;
  readonly kinds: (typeof runKinds)[number][];
  readonly agent: AgentPolicy | undefined;
  /** Terminals for members of the environments that this machine serves. */
  readonly terminal: Decision;
  /** Their ports: those that were published, all that loopback reaches, or none. */
  readonly ports: 'published' | 'loopback' | 'refuse';
  /** Members of the environments have Linux users of their own here, as which their terminals run. */
  readonly users: boolean;
}

/** Where the policy comes from and what the command line puts in its place. */
export interface PolicyOptions {
  path: string;
  home: string;
  /** Roots of the command line, in place of the file's. */
  roots?: readonly string[] | undefined;
  /** Tags and parallel runs of the command line, in place of the file's. */
  tags?: readonly string[] | undefined;
  parallel?: number | undefined;
  /** Told why a changed file is not used; the last good policy stays. */
  onFault: (fault: string) => void;
}

/** The policy as it stands now. */
export interface PolicySource {
  /** Re-reads the file when it changed. */
  current(): Promise<Policy>;
}

/** True when there is a file at the policy's path, readable or not. */
export async function hasPolicy(path: string): Promise<boolean> {
  return (await stat(path).catch((error) => errnoOf(error))) !== 'ENOENT';
}

/** Writes the default policy (0600) unless the file is there: all but commands allowed, inside the home directory. */
export async function writeDefaultPolicy(path: string, shell: 'allow' | 'ask'): Promise<void> {
  const ops = Object.fromEntries(hostOpNames.map((name) => [name, name === 'shell' ? shell : 'allow']));
  await writePrivate(path, `${JSON.stringify({ ops, roots: ['~'] }, null, 2)}\n`, true);
}

/** Allows commands in a policy file that is there; all else in it stays. */
export async function allowShell(path: string): Promise<void> {
  const file = parseFile(await readPolicy(path), path);
  // A file without operations allows them all.
  if (file.ops)
    await writePrivate(path, `${JSON.stringify({ ...file, ops: { ...file.ops, shell: 'allow' } }, null, 2)}\n`, false);
}

/** A policy file's decision on commands. */
export const shellDecision = async (path: string): Promise<Decision> =>
  decisionsOf(parseFile(await readPolicy(path), path).ops).shell;

/** Reads the policy file; throws `CommandError` naming the file and what is wrong with it. */
export async function openPolicy(options: PolicyOptions): Promise<PolicySource> {
  // The whole text is compared: two changes within one tick of the file system's clock share an mtime.
  let seen = await readPolicy(options.path);
  let policy = await parsePolicy(seen, options);
  const refresh = async (): Promise<Policy> => {
    try {
      const text = await readPolicy(options.path);
      if (text === seen) return policy;
      seen = text;
      policy = await parsePolicy(text, options);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      // A file that cannot be read has no text: its fault stands for it, so that it is told once.
      const told = error instanceof UnreadablePolicy && seen === error.message;
      if (error instanceof UnreadablePolicy) seen = error.message;
      if (!told) options.onFault(`${error.message}; the last good policy stays`);
    }
    return policy;
  };
  // One after the other: an operation must not get the old policy while another reads the new one.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    current() {
      const next = turn.then(refresh);
      turn = next.catch(() => {});
      return next;
    },
  };
}

class UnreadablePolicy extends CommandError {}

async function readPolicy(path: string): Promise<string> {
  try {
    if (((await stat(path)).mode & 0o002) === 0) return await readFile(path, 'utf8');
  } catch (error) {
    throw new UnreadablePolicy(`cannot read the policy file ${path}: ${errnoOf(error) ?? 'unknown error'}`);
  }
  throw new UnreadablePolicy(`${path}: every user can write to it: chmod 600 it`);
}

async function parsePolicy(text: string, options: PolicyOptions): Promise<Policy> {
  const file = parseFile(text, options.path);
  const roots = options.roots
    ? await realRoots(
        options.roots.map((root) => resolve(fromHome(root, options.home))),
        '--roots',
      )
    : await realRoots(rootsOfFile(file.roots ?? ['~'], options), options.path);
  const decisions = decisionsOf(file.ops);
  return {
    decisions,
    roots,
    name: file.name,
    tags: options.tags ?? file.tags ?? [],
    parallel: options.parallel ?? file.parallel ?? defaultParallel,
    kinds: file.kinds ?? [...runKinds],
    // A terminal is worth a shell.
    terminal: file.terminal ?? decisions.shell,
    ports: file.ports ?? 'published',
    users: file.users ?? false,
    // An agent with tools is worth a shell: who may not run commands here may not tell it to.
    agent: file.agent && { ...file.agent, ask: file.agent.ask ?? decisions.shell !== 'allow' },
  };
}

function parseFile(text: string, path: string): z.output<typeof policyFile> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${path}: not JSON: ${(error as Error).message}`);
  }
  const parsed = policyFile.safeParse(content, { error: wordsFor });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.');
  throw new CommandError(`${path}: ${where ? `${where}: ` : ''}${issue?.message ?? 'malformed'}`);
}

/** A file that lists operations means just those: an operation added later must not be allowed by its silence. */
function decisionsOf(ops: z.output<typeof policyFile>['ops']): Record<HostOp, Decision> {
  const absent: Decision = ops ? 'refuse' : 'allow';
  return Object.fromEntries(hostOpNames.map((name) => [name, ops?.[name] ?? absent])) as Record<HostOp, Decision>;
}

function rootsOfFile(roots: readonly string[], { home, path }: PolicyOptions): string[] {
  return roots.map((root) => {
    const full = fromHome(root, home);
    if (!isAbsolute(full)) throw new CommandError(`${path}: roots: "${root}" is not an absolute path`);
    return full;
  });
}

function fromHome(root: string, home: string): string {
  return root === '~' || root.startsWith('~/') ? join(home, root.slice(1)) : root;
}

async function realRoots(roots: readonly string[], source: string): Promise<string[]> {
  const real: string[] = [];
  for (const root of roots) {
    const directory = await realDirectory(root);
    if (directory === undefined) throw new CommandError(`${source}: the root ${root} is not a directory`);
    // The gateway takes roots as one comma-separated text.
    if (directory.includes(',')) throw new CommandError(`${source}: the root ${root} has a comma in its path`);
    if (!real.includes(directory)) real.push(directory);
  }
  return real;
}

async function realDirectory(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
