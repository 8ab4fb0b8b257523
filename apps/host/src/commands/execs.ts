import { execStates, uuid } from '@svc/contract';
import type { CommonOptions } from '../config.ts';
import { CommandError } from '../failure.ts';
import { describeWithTrace } from '../report.ts';
import { table } from '../table.ts';
import { follow, type HostExec } from './follow.ts';
import { findDevice, openCommand, write } from './target.ts';

/** Options of `svc host execs list`. */
export interface ListExecsOptions extends CommonOptions {
  host?: string;
  state?: string;
}

/** Options of `svc host execs output`. */
export interface ExecOutputOptions extends CommonOptions {
  follow?: boolean;
}

/** `svc host execs list`: the newest commands that hosts do by themselves. */
export async function listExecs(options: ListExecsOptions): Promise<void> {
  const { client, output } = await openCommand(options);
  const state = execStates.find((name) => name === options.state);
  if (options.state !== undefined && !state) throw new CommandError(`--state is one of ${execStates.join(', ')}`);
  const { signal } = new AbortController();
  const device = options.host === undefined ? undefined : await told(findDevice(client, options.host, signal));
  const query = { ...(device !== undefined && { device_id: device }), ...(state && { state }) };
  const { execs } = await told(client.hosts.listExecs({ query }));
  if (options.json) return output.json({ execs });
  if (execs.length === 0) return output.log('no host does or did a command by itself');
  const rows = execs.map((one) => [one.req_id, one.device_id, one.op, stateOf(one), one.created_at]);
  for (const line of table([['ID', 'DEVICE', 'OP', 'STATE', 'GIVEN'], ...rows])) output.line(line);
}

/** A state with what a reader of a list wants to know of it. */
function stateOf({ state, exit_code: code, cancel_asked_at: asked, error }: HostExec): string {
  if (state === 'done') return code === undefined ? (error ? `done: ${error}` : 'done') : `done: exit code ${code}`;
  return asked !== undefined && state === 'running' ? 'running, to be ended' : state;
}

/** `svc host execs show`: one command, as the gateway knows it. */
export async function showExec(id: string, options: CommonOptions): Promise<void> {
  const { client, output } = await openCommand(options);
  output.json(await told(client.hosts.getExec({ params: { req_id: idOf(id) } })));
}

/** `svc host execs output`: what a command has written, with `--follow` until it is over. */
export async function showOutput(id: string, options: ExecOutputOptions): Promise<void> {
  const { client, output } = await openCommand(options);
  const params = { req_id: idOf(id) };
  if (!options.follow) {
    process.stdout.write(await told(client.hosts.execOutput({ params })));
    return;
  }
  const { signal } = new AbortController();
  const onText = (text: string) => write(process.stdout, text);
  const { state, error } = await told(follow({ client, id: params.req_id, onText, log: output.log, signal }));
  if (state !== 'done') output.log(error === undefined ? state : `${state}: ${error}`);
}

/** `svc host execs cancel`: keeps a command from starting, or has its host end it. */
export async function cancelExec(id: string, options: CommonOptions): Promise<void> {
  const { client, output } = await openCommand(options);
  const exec = await told(client.hosts.cancelExec({ params: { req_id: idOf(id) } }));
  if (options.json) output.json(exec);
  else output.line(stateOf(exec));
}

function idOf(text: string): string {
  const id = uuid.safeParse(text);
  if (!id.success) throw new CommandError(`"${text}" is no id of a command: see svc host execs list`);
  return id.data;
}

/** The answer of a call; throws its failure in one line. */
const told = <T>(call: Promise<T>): Promise<T> =>
  call.catch((error: unknown) => {
    throw error instanceof CommandError ? error : new CommandError(describeWithTrace(error));
  });
