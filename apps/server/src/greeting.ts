import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How the owner learns of the key: its text on a terminal, else the file that holds it. */
export type OwnerKey = { text: string } | { file: string };

/**
 * Keeps the owner's key where its owner alone finds it. What is no terminal is a journal or a container's log, which
 * others read and which is kept: there the key goes to a file (0600).
 */
export function keepOwnerKey(
  dataDir: string,
  text: string | undefined,
  isTerminal = process.stdout.isTTY,
): OwnerKey | undefined {
  if (text === undefined || isTerminal) return text === undefined ? undefined : { text };
  const file = join(dataDir, 'owner.key');
  // One of an earlier installation may be there, with another mode.
  rmSync(file, { force: true });
  writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return { file };
}

/** Printed once it answers; the key, or where it is, on the first start only. */
export function greeting(baseUrl: string, key: OwnerKey | undefined): string {
  const lines = [`svc is ready at ${baseUrl}`, `  reference: ${baseUrl}/docs`];
  if (key !== undefined) {
    const [said, shown, header] =
      'text' in key
        ? ['Your API key, shown once:', key.text, `'Authorization: Bearer ${key.text}'`]
        : ['Your API key is in:', key.file, `"Authorization: Bearer $(cat ${quoted(key.file)})"`];
    lines.push('', said, `  ${shown}`, '', 'Try it:', `  curl -H ${header} ${baseUrl}/v1/keys`);
  }
  return `${lines.join('\n')}\n`;
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
