import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Scope } from '@svc/contract';
import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError, errnoOf } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { devicePlatform } from '../ops/info.ts';
import { createOutput } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { ensureStateDirectory, loadDevice, writePrivate } from '../state.ts';

/** Options of `svc host enroll`. */
export interface EnrollOptions extends CommonOptions {
  name?: string;
  out?: string;
}

/** Scopes a daemon needs: to be a host, to take scheduled runs, and to name the device that asks at its terminal. */
const scopes: Scope[] = ['hosts:serve', 'scheduler:serve', 'sessions:serve', 'environments:serve', 'devices:read'];

/** `svc host enroll`: makes a key that this machine alone serves with, and that may do nothing else. */
export async function enroll(options: EnrollOptions): Promise<void> {
  const config = loadConfig(options);
  const file = options.out === undefined ? undefined : resolve(options.out);
  if (file !== undefined && existsSync(file)) throw new CommandError(`${file} is there already: name another file`);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  await ensureStateDirectory(config.stateDir);
  const { id: deviceId, name: known } = await loadDevice(config.stateDir);
  const name = options.name ?? known ?? hostname();
  const device = { id: deviceId, name, platform: devicePlatform };
  const client = clientOf(config, { retries: 0, device });
  const body = { name: `host ${name}`.slice(0, 120), scopes, tool_level: 'l0' as const, device_id: deviceId };
  const made = await client.keys.create({ body }).catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  if (file !== undefined) {
    await writePrivate(file, `${made.key}\n`, true).catch(async (error) => {
      await client.keys.revoke({ params: { id: made.id } });
      throw new CommandError(`cannot write ${file}: ${errnoOf(error) ?? 'unknown error'}; the key was revoked`);
    });
  }
  const where = file === undefined ? { key: made.key } : { key_file: file };
  // Not by `output`, which lets no key through.
  if (options.json) process.stdout.write(`${JSON.stringify({ id: made.id, device_id: deviceId, ...where })}\n`);
  else if (file === undefined) process.stdout.write(`${made.key}\n`);
  output.log(`this key serves as the host ${name} (${deviceId}) and may do nothing else`);
  if (file === undefined) output.log('it is shown once: keep it in a file that only you can read (chmod 600)');
  output.log(`start the daemon with it: svc host run --key-file ${file ?? 'FILE'}`);
}
