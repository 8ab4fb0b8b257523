// `svc host …`, `svc env …`, `svc session …`, `svc prompt …`, `svc login`, `svc logout` and `svc whoami` of the clone: the programs of apps/host, told where this machine's platform answers.
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { giveHostUrl, loadConfig, loadPlace } from './config.ts';
import { parseSettings, settingsFileName } from './config.file.ts';
import { findDataDir } from './postgres/datadir.ts';
import { readIfThere } from './postgres/lock.ts';
import { findRunningProcesses, localUrl } from './running.ts';

/** Where the platform of the data dir answers: as it runs, else as its settings file says. */
function findUrl(): string | undefined {
  const dataDir = findDataDir(loadPlace({}));
  const running = findRunningProcesses(dataDir).find(({ port, part }) => port !== undefined && part !== 'relay');
  // A certificate is for the public name.
  if (running) return running.tls ? running.base_url : localUrl(running);
  const file = join(dataDir, settingsFileName);
  const text = readIfThere(file);
  return text === undefined ? undefined : loadConfig({}, undefined, parseSettings(text, file)).baseUrl;
}

const program = process.argv[2] ?? 'host';
/** Words of one program, which reads which of them it was. */
const isSignIn = ['login', 'logout', 'whoami'].includes(program);
if (!isSignIn) process.argv.splice(2, 1);
try {
  giveHostUrl(findUrl());
} catch {
  // A data dir of another user, or a file that `svc up` refuses: the usual address is asked.
}
const file = isSignIn ? 'login' : program === 'host' ? 'main' : program;
await import(pathToFileURL(resolve(import.meta.dirname, `../../host/src/${file}.ts`)).href);
