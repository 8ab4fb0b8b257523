import { uuid } from '@svc/contract';
import { type Client, SvcError } from '@svc/sdk';
import { type CommonOptions, type Config, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { createOutput, type Output } from '../output.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** Exit code of everything that is not the command's own: told apart from what the command may answer. */
export const relayFailedCode = 125;

/** Who calls, and where a command writes. */
export async function openCommand(options: CommonOptions): Promise<{ client: Client; output: Output }> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  return { client: await asDevice(config, output), output };
}

/** This machine's identity goes along, so that the other host can say who asks; without one it works as well. */
async function asDevice(config: Config, output: Output): Promise<Client> {
  try {
    await ensureStateDirectory(config.stateDir);
    const { id, name } = await loadDevice(config.stateDir);
    return clientOf(config, { retries: 0, device: { id, ...(name && { name }) } });
  } catch (error) {
    output.log(`${(error as Error).message}; going on without a device id`);
    return clientOf(config, { retries: 0 });
  }
}

/** The id of the present host that `target` names: its device id, else its exact name or hostname. */
export async function findHost(client: Client, target: string, signal: AbortSignal): Promise<string> {
  const id = uuid.safeParse(target);
  if (id.success) return id.data;
  const { hosts } = await client.hosts.list({}, { signal });
  const matching = hosts.filter((host) => host.name === target || host.hostname === target);
  const ids = matching.map((host) => host.device_id);
  const otherwise = 'see svc host list, or give --wait for one that is away';
  return onlyOf(ids, target) ?? missing(`no present host is called "${target}": ${otherwise}`);
}

/** The same for one that may be away: it is looked for among all devices too. */
export async function findDevice(client: Client, target: string, signal: AbortSignal): Promise<string> {
  const id = uuid.safeParse(target);
  if (id.success) return id.data;
  const { hosts } = await client.hosts.list({}, { signal });
  const present = hosts.filter((host) => host.name === target || host.hostname === target);
  const found = onlyOf(
    present.map((host) => host.device_id),
    target,
  );
  if (found !== undefined) return found;
  const { devices } = await client.devices.list({}, { signal }).catch((error: unknown) => {
    if (!(error instanceof SvcError) || error.status !== 403) throw error;
    return missing(`no present host is called "${target}", and this key may not look for devices: give its id`);
  });
  const away = devices.filter(({ name }) => name === target).map((device) => device.id);
  return onlyOf(away, target) ?? missing(`no device is called "${target}": give its id`);
}

function onlyOf(ids: readonly string[], target: string): string | undefined {
  if (ids.length <= 1) return ids[0];
  throw new CommandError(
    `"${target}" names ${ids.length} hosts, give one of their ids: ${ids.join(', ')}`,
    relayFailedCode,
  );
}

function missing(message: string): never {
  throw new CommandError(message, relayFailedCode);
}

/** Resolves when the stream took the text, or when its reader is gone (`| head`). */
export function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '') return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
