// `svc host …`, `svc env …`, `svc session …`, `svc prompt …`, `svc login`, `svc logout` and `svc whoami` of the clone: the programs of apps/host, told where this machine's platform answers.
import { join } from 'node:path';
import { giveHostUrl, loadConfig, loadPlace } from './config.ts';
import { parseSettings, settingsFileName } from './config.file.ts';
import { findDataDir } from './postgres/datadir.ts';
import { readIfThere } from './postgres/lock.ts';
import { findRunningProcesses, localUrl } from './running.ts';

/** Where the platform of the data dir answers: as it runs, else as its settings file says. */
function findUrl(): string | undefined {
  const dataDir = findDataDir(loadPlace({}));
  const running = findRunningProcesses(dataDir).find(({ port, part }) => port !== undefined && part !== 'relay');
  // A certificate is for the public name, and `localhost` is what the platform calls itself.
  const isNamed = running?.tls === true || running?.base_url === `http://localhost:${running?.port}`;
  if (running) return isNamed ? running.base_url : localUrl(running);
  const file = join(dataDir, settingsFileName);
  const text = readIfThere(file);
  return text === undefined ? undefined : loadConfig({}, undefined, parseSettings(text, file)).baseUrl;
}

try {
  giveHostUrl(findUrl());
} catch {
  // A data dir of another user, or a file that `svc up` refuses: the usual address is asked.
}
await import('@svc/host/program');
