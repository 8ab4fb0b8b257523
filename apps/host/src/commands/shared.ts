import { text as readAll } from 'node:stream/consumers';
import { uuid } from '@svc/contract';
import type { Client } from '@svc/sdk';
import { type CommonOptions, type Config, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { createOutput, type Output } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** What a command that speaks to the gateway works with: a client as this device, and where it writes. */
export async function open(options: CommonOptions): Promise<{ client: Client; config: Config; output: Output }> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  await ensureStateDirectory(config.stateDir);
  const { id, name } = await loadDevice(config.stateDir);
  const device = { id, ...(name && { name }) };
  return { client: clientOf(config, { device }), config, output };
}

/** The id of a device by id or exact name. */
export async function deviceOf(client: Client, target: string): Promise<string> {
  const given = uuid.safeParse(target);
  if (given.success) return given.data;
  const { devices } = await told(client.devices.list());
  const [only, ...others] = devices.filter(({ name }) => name === target);
  if (!only) throw new CommandError(`no device is called "${target}"; give its id`);
  if (others.length > 0) throw new CommandError(`"${target}" names ${others.length + 1} devices; give the id of one`);
  return only.id;
}

/** A prompt as its words, or `-` for standard input. */
export async function promptOf(words: readonly string[]): Promise<string> {
  const text = words.length === 1 && words[0] === '-' ? await readAll(process.stdin) : words.join(' ');
  if (text.trim() !== '') return text;
  throw new CommandError('there is no prompt: give its words, or - to read it from standard input');
}

/** Says of a write that it waits on this machine. */
export function sayStored(output: Output, { json }: CommonOptions): void {
  if (json) output.json({ stored: true });
  else output.line('stored; it is sent before the next svc session send or svc prompt add, or with --wait');
}

/** The answer of a call; throws its failure in one line. */
export const told = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw new CommandError(describeWithTrace(error));
  });
