import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { findDataDir, makeDataDir } from './postgres/datadir.ts';
import { findRunningProcesses } from './running.ts';
import { notedImagesDir } from './root/adopt.ts';
import { isAdopted } from './config.foreign.ts';
import { imagesDirOf, nodeFlags, sandboxdProgram } from './sandboxd.ts';

/** `svc images …`: the node agent's own command, on the images of this data dir. Answers its exit code. */
export async function imagesCommand(config: Config, words: readonly string[], json: boolean): Promise<number> {
  // Only what brings an image may make the data dir: `list` changes nothing.
  const isAsked = words.includes('--help');
  const dataDir =
    !isAsked && ['build', 'fetch', 'import'].includes(words[0] ?? '') ? makeDataDir(config) : findDataDir(config);
  const running = findRunningProcesses(dataDir).find(({ images_dir }) => images_dir !== undefined);
  // Root does not believe what the platform's user wrote.
  const used = running && (isAdopted(statSync(dataDir)) ? notedImagesDir(dataDir) : running.images_dir);
  const dir = config.sandboxes.imagesDir ?? used ?? imagesDirOf(config, join(dataDir, 'sandboxd'));
  const args = [...nodeFlags, sandboxdProgram, 'images', ...words];
  if (words.length > 0 && words[0] !== '--help') args.push('--dir', dir, ...(json ? ['--json'] : []));
  if (words[0] === 'fetch' && !isAsked) args.push(...fetchFlags(config));
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  // A fetch removes what it has when it is stopped, and says so: this process waits for that.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** The settings that a fetch goes by; an address and a key on the command line win over them. */
function fetchFlags({ sandboxes: { imagesUrl, imagesKey }, fetchAllowHosts, fetchPorts }: Config): string[] {
  return [
    ...(imagesUrl === undefined ? [] : ['--set-url', imagesUrl]),
    ...(imagesKey === undefined ? [] : ['--set-key', imagesKey]),
    '--allow-hosts',
    fetchAllowHosts.join(','),
    '--ports',
    fetchPorts.join(','),
  ];
}
