import { arch, platform } from 'node:os';
import { join, resolve } from 'node:path';
import { createClient } from '@svc/sdk';
import { type CommonOptions, loadConfig } from '../config.ts';
import { addEnrolment } from '../environment/enrolments.ts';
import { CommandError, errnoOf } from '../failure.ts';
import { createOutput } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { ownVersion } from '../self.ts';
import { ensureStateDirectory, loadDevice, writePrivate } from '../state.ts';
import { run } from './run.ts';

/** Options of `svc host enroll TOKEN`. */
export interface EnrollEnvironmentOptions extends CommonOptions {
  name?: string;
  /** The file for the key of a machine at a provider. */
  out?: string;
  run?: boolean;
  /** Of `run`, as the command line of that has it. */
  allowShell?: boolean;
}

/** What a token of an environment begins with (document 3, Authentication 2). */
export const isEnvironmentToken = (text: string): boolean => text.startsWith('svc_env_');

/** Uses a token for this machine up. The daemon serves what it was for once `addEnrolment` wrote it down. */
export async function enrolWith(token: string, url: string, deviceId: string) {
  const client = createClient({ baseUrl: url, retries: 2 });
  const body = { token, device_id: deviceId, daemon_version: ownVersion(), os: platform(), arch: arch() };
  return client.environments.enroll({ body }).catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
}

/** `svc host enroll TOKEN`: enrols this machine in an environment, which the daemon serves from then on. */
export async function enrollEnvironment(token: string, options: EnrollEnvironmentOptions): Promise<void> {
  // The token is the right to enrol; the key is what the daemon serves with, and only looked for where it runs at once.
  const config = loadConfig(options, undefined, options.run === true ? 'given' : 'optional');
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  await ensureStateDirectory(config.stateDir);
  const { id: deviceId } = await loadDevice(config.stateDir);
  const { environment_id: id, relay_url: relayUrl, api_key: key } = await enrolWith(token, config.url, deviceId);
  const keyFile = resolve(options.out ?? join(config.stateDir, 'host.key'));
  // A machine at a provider gets the key that it serves with. The token may be asked again until it does.
  if (key !== undefined)
    await writePrivate(keyFile, `${key}\n`, false).catch((error: unknown) => {
      throw new CommandError(`cannot write ${keyFile}: ${errnoOf(error) ?? 'unknown error'}`);
    });
  const where = key === undefined ? {} : { key_file: keyFile };
  await addEnrolment(config.stateDir, { environment_id: id, relay_url: relayUrl });
  if (options.json) output.json({ environment_id: id, relay_url: relayUrl, device_id: deviceId, ...where });
  else output.line(`this machine is enrolled in the environment ${id}`);
  if (options.run) return run(key === undefined ? options : { ...options, keyFile });
  output.log('its daemon serves it: svc host run, if it does not run yet');
}
