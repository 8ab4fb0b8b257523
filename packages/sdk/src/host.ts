import type { HostOp, HostOpArgs, HostOpResult } from '@svc/contract';
import { type Client, createClient } from './client.ts';
import { SvcError } from './error.ts';
import type { CallOptions } from './send.ts';

type HostRecord = Awaited<ReturnType<Client['hosts']['list']>>['hosts'][number];
/** The arguments of an operation; what has a default may be left out. */
type Args<N extends HostOp> = Partial<HostOpArgs<N>>;

/** A machine that is present, and what it can be asked to do. */
export class Host {
  readonly #client: Client;
  /** As the gateway lists it. */
  readonly record: HostRecord;

  private constructor(client: Client, record: HostRecord) {
    this.#client = client;
    this.record = record;
  }

  /** The host with this device id, name or hostname; throws `SvcError` `not_found` when none is present. */
  static async find(which: string, client: Client = createClient()): Promise<Host> {
    const { hosts } = await client.hosts.list();
    const by = (name: 'device_id' | 'name' | 'hostname') => hosts.find((host) => host[name] === which);
    const record = by('device_id') ?? by('name') ?? by('hostname');
    if (record) return new Host(client, record);
    const present = hosts.map(({ name }) => name).join(', ') || 'none';
    throw new SvcError({ status: 0, code: 'not_found', message: `no host ${which} is present; present: ${present}` });
  }

  /** Runs a command line of the host's shell; a command that fails is a result with its `exit_code`. */
  shell(
    command: string,
    { cwd, env, timeout_ms = 30_000 }: Omit<Args<'shell'>, 'command'> = {},
    call?: CallOptions,
  ): Promise<HostOpResult<'shell'>> {
    const args = { command, timeout_ms, ...(cwd !== undefined && { cwd }), ...(env !== undefined && { env }) };
    // The host ends the command; the gateway waits a little longer for it to say so.
    return this.call('shell', args, { ...call, waitMs: Math.min(timeout_ms + 2_000, 300_000) });
  }

  /** Asks for an operation; throws `SvcError` `host_failed` with the host's words when it refuses or fails. */
  async call<N extends HostOp>(
    op: N,
    args: Args<N>,
    { waitMs = 30_000, ...call }: CallOptions & { waitMs?: number } = {},
  ): Promise<HostOpResult<N>> {
    const params = { device_id: this.record.device_id };
    const answer = await this.#client.hosts.exec({ params, body: { op, args, timeout_ms: waitMs } }, call);
    if (answer.ok) return answer.result as HostOpResult<N>;
    throw new SvcError({ status: 200, code: 'host_failed', message: answer.error ?? 'the host gives no reason' });
  }
}
