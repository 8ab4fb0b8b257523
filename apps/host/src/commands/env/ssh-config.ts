import type { contract, RouteOutput } from '@svc/contract';
import { type CommonOptions, loadConfig } from '../../config.ts';
import { CommandError } from '../../failure.ts';
import { envCommand } from '../../self.ts';
import { answered, type Environment, findEnvironment, listAll, openGateway } from './gateway.ts';
import { doAll } from './places.ts';
import { portOf } from './words.ts';

/** Options of `svc env ssh-config`. */
export interface SshConfigOptions extends CommonOptions {
  port: string;
}

type Whole = RouteOutput<typeof contract.environments.get>;

const atOnce = 8;
/** Environments that have no machine, or will have none. */
const without: ReadonlySet<Environment['state']> = new Set([
  'pending',
  'archived',
  'failed',
  'destroying',
  'destroyed',
]);

/**
 * `svc env ssh-config`: prints a block for ssh of each environment, by which `ssh svc-<slug>` goes through
 * `svc env forward`.
 * If none is named: the caller's own, and those that the caller took up. Others may add anybody to theirs.
 */
export async function sshConfig(targets: readonly string[], options: SshConfigOptions): Promise<void> {
  const port = portOf(options.port, '--port');
  const { client, output } = await openGateway(options);
  const named =
    targets.length > 0
      ? await doAll(targets, atOnce, (target) => findEnvironment(client, target))
      : (await answered(listAll(client))).filter(({ state }) => !without.has(state));
  const proxy = proxyOf(options);
  const found = await doAll(named, atOnce, ({ id, slug }) =>
    answered(client.environments.get({ params: { id } }), 1, slug),
  );
  const taken = targets.length > 0 ? found : found.filter(isTakenUp);
  const left = found.filter((one) => !taken.includes(one)).map(({ environment: { slug } }) => slug);
  // By its id: a slug is free again once its environment is destroyed, and the next to take it may be a stranger.
  const blocks = taken.map((one) => blockOf(one, [...proxy, one.environment.id, String(port)]));
  if (left.length > 0)
    output.log(
      `left out, as others added you and you set no SSH key there: ${left.join(', ')}; name them to have them`,
    );
  const { keyFile, profile } = loadConfig(options);
  if (keyFile === undefined && profile === undefined)
    output.log('ssh needs SVC_API_KEY where it is called: this names no key file (--key-file)');
  process.stdout.write(blocks.join('\n'));
}

/** The words of `svc env forward`, with what this command was given. */
function proxyOf(options: SshConfigOptions): string[] {
  const { keyFile, profile, url, relayUrl, stateDir } = loadConfig(options);
  const relay = relayUrl === `${url}/relay` ? [] : ['env', `SVC_RELAY_URL=${relayUrl}`];
  return [
    ...relay,
    ...envCommand(),
    'forward',
    '--stdio',
    '--url',
    url,
    ...(keyFile === undefined ? [] : ['--key-file', keyFile]),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(options.stateDir === undefined ? [] : ['--state-dir', stateDir]),
  ];
}

/**
 * Whether the caller owns an environment, has it by an organisation, or set an SSH key there: nobody else does that for
 * them.
 */
function isTakenUp({ environment, members, user_id: caller }: Whole): boolean {
  const own = members.find(({ user_id: one }) => one === caller);
  return environment.ownerUserId === caller || own === undefined || own.ssh_public_key;
}

/** A block of ssh_config. What comes from a gateway is only let in as the contract has it: a line of this file runs commands. */
function blockOf({ environment: { id, slug }, members, user_id: caller }: Whole, proxy: readonly string[]): string {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(slug) || !/^[0-9a-f-]{36}$/.test(id))
    throw new CommandError('the gateway answered an environment whose name or id is none');
  const own = members.find(({ user_id: one }) => one === caller);
  // Without an account of theirs on the machine ssh asks for that of this machine, as it does by itself.
  const user =
    own?.provisioned_at != null && /^[a-z][a-z0-9_-]{0,31}$/.test(own.linux_username) ? own.linux_username : '';
  return [
    // Never the slug alone: its owner chose it, and `nas` may be a machine of the caller's.
    `Host svc-${slug}`,
    `  HostKeyAlias svc-${id}`,
    ...(user === '' ? [] : [`  User ${user}`]),
    `  ProxyCommand ${proxy.map(quoted).join(' ')}`,
    '',
  ].join('\n');
}

/** A word for the shell that ssh starts, in a line where ssh gives % a meaning. */
function quoted(word: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(word))
    throw new CommandError('a path with control characters cannot stand in an ssh_config');
  const plain = /^[\w@+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
  return plain.replaceAll('%', '%%');
}
