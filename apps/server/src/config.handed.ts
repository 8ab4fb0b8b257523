import { closeSync, readFileSync } from 'node:fs';

/** Names the descriptor that `Handed` is read from, in a process that goes on as another user. */
export const handedVariable = 'SVC_HANDED';

/** A start as root hands this to the platform, which goes on as another user (`root/start.ts`). */
export interface Handed {
  /** Socket of the process that stays root; undefined: a command, which has none. */
  helper?: string;
  /** Files that only root may read, in base64, by path: certificates, keys of providers, secrets. */
  files: Readonly<Record<string, string>>;
}

const { env } = process;
const handed = takeHanded(env[handedVariable]);
// Child processes must not see it.
delete env[handedVariable];

function takeHanded(descriptor: string | undefined): Handed | undefined {
  if (descriptor === undefined) return undefined;
  const text = readFileSync(Number(descriptor), 'utf8');
  closeSync(Number(descriptor));
  return JSON.parse(text) as Handed;
}

/** Socket of the helper; undefined where nothing stayed root. */
export const helperSocket = handed?.helper;

/** Files that root read, here or before, by path. A file that a process reads for itself is not kept: once deleted, it is gone. */
const known = new Map(Object.entries(handed?.files ?? {}).map(([path, text]) => [path, Buffer.from(text, 'base64')]));

/** Reads a file that the operator named. One that this process may not read is answered as it was when root read it. */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const held = known.get(path);
    if (held === undefined) throw error;
    return held;
  }
}

/** The same for what does not change while a process runs: read once, since a pipe gives what it has once. */
export function readSecretFile(path: string): Buffer {
  const bytes = known.get(path) ?? readFileSync(path);
  known.set(path, bytes);
  return bytes;
}

/** Reads files while this process still may; the others are left to who needs them. Answers all that is known, in base64. */
export function rememberFiles(paths: readonly string[]): Record<string, string> {
  for (const path of paths) {
    try {
      readSecretFile(path);
    } catch {
      // Who needs it says that it is missing.
    }
  }
  return Object.fromEntries([...known].map(([path, bytes]) => [path, bytes.toString('base64')]));
}
