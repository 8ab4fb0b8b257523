import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rm, rmdir } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@svc/sdk';
import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError, errnoOf } from '../failure.ts';
import { findInstaller, systemdWord } from '../native/install.ts';
import { addEnrolment } from '../environment/enrolments.ts';
import { createApprover } from '../approval.ts';
import { beginPolicy } from '../first-policy.ts';
import { createOutput } from '../output.ts';
import { allowShell, hasPolicy, shellDecision } from '../policy.ts';
import { describeWithTrace } from '../report.ts';
import { ownCommand, ownFile, userName } from '../self.ts';
import { ensureStateDirectory, loadDevice, saveDevice, writePrivate } from '../state.ts';
import { enrolWith, isEnvironmentToken } from './enroll-environment.ts';
import { placeWrapper, removeWrapper, shellWord } from './wrapper.ts';

const execute = promisify(execFile);

/** Options of `svc host install`. */
export interface InstallOptions extends CommonOptions {
  code?: string;
  name?: string;
  roots?: string;
  tags?: string;
  allowShell?: boolean;
  /** A token of an environment. */
  environment?: string;
}

/** Where things are: of the machine for root, else of the user. */
interface Places {
  program: string;
  keyFile: string;
  stateDir: string;
  unit: string;
  /** `svc`, as the person at the machine types it. */
  wrapper: string;
  systemctl: readonly string[];
  wantedBy: string;
}

function placesOf({ stateDir, keyFile }: CommonOptions): Places {
  const home = homedir();
  const [places, key]: [Omit<Places, 'keyFile'>, string] =
    process.getuid?.() === 0
      ? [
          {
            program: '/usr/local/lib/svc-host/host.mjs',
            stateDir: '/etc/svc-host',
            unit: '/etc/systemd/system/svc-host.service',
            wrapper: '/usr/local/bin/svc',
            systemctl: ['systemctl'],
            wantedBy: 'multi-user.target',
          },
          'key',
        ]
      : [
          {
            program: join(home, '.local/share/svc-host/host.mjs'),
            stateDir: join(home, '.config/svc'),
            unit: join(home, '.config/systemd/user/svc-host.service'),
            wrapper: join(home, '.local/bin/svc'),
            systemctl: ['systemctl', '--user'],
            wantedBy: 'default.target',
          },
          'host.key',
        ];
  const state = resolve(stateDir ?? places.stateDir);
  return { ...places, stateDir: state, keyFile: resolve(keyFile ?? join(state, key)) };
}

/** `svc host install`: makes this machine a host that starts with it, with the key that a code of `svc host invite` gives. */
export async function install(options: InstallOptions): Promise<void> {
  const output = createOutput();
  const places = placesOf(options);
  const { url, warnings, childEnvironment } = loadConfig(options, undefined, 'optional');
  for (const warning of warnings) output.log(warning);
  if (options.code === undefined && !existsSync(places.keyFile)) {
    throw new CommandError(`give --code (from svc host invite), or put a key into ${places.keyFile}`);
  }
  if (options.environment !== undefined && !isEnvironmentToken(options.environment))
    throw new CommandError('--environment is a token, which begins with svc_env_: see svc host invite --environment');
  await ensureStateDirectory(places.stateDir);
  const device = await loadDevice(places.stateDir);
  // All that can fail comes before the code, which works once.
  const program = await placeProgram(places.program);
  await settlePolicy(places, options);
  let name = options.name ?? device.name;
  await place(places.unit, unitText(runCommand(program, url, places, options, name), places));
  // Before the code, which works once: a second token for the environment ends this one.
  if (options.environment !== undefined) {
    const { environment_id: id, relay_url: relayUrl } = await enrolWith(options.environment, url, device.id);
    await addEnrolment(places.stateDir, { environment_id: id, relay_url: relayUrl });
    output.log(`this machine is enrolled in the environment ${id}`);
  }
  if (options.code !== undefined) {
    const asked = { id: device.id, name: name ?? hostname() };
    const client = createClient({ baseUrl: url, retries: 0, apiKey: '' });
    const made = await client.hosts.redeemInvite({ body: { code: options.code, device: asked } }).catch((error) => {
      throw new CommandError(describeWithTrace(error));
    });
    await writePrivate(places.keyFile, `${made.key}\n`, false);
    name = options.name ?? made.name;
    output.log(`${places.keyFile} holds a key with which this machine is the host ${name} and may do nothing else`);
  }
  await saveDevice(places.stateDir, { id: device.id, name });
  const run = runCommand(program, url, places, options, name);
  await place(places.unit, unitText(run, places));
  await start(places, run, output);
  await offerCommand({ program, url, places, searched: childEnvironment['PATH'] ?? '' }, output);
  const { stateDir, keyFile } = options;
  const files = [
    ...(stateDir === undefined ? [] : ['--state-dir', places.stateDir]),
    ...(keyFile === undefined ? [] : ['--key-file', places.keyFile]),
  ];
  await sayShell(places, [...ownCommand(program), 'install', '--url', url, ...files, ...givenOf(options)], output);
}

const policyOf = ({ stateDir }: Places): string => join(stateDir, 'host.json');

/** Whether commands are allowed is asked here, as the daemon has no terminal to ask on. */
async function settlePolicy(places: Places, { allowShell: allows = false }: InstallOptions): Promise<void> {
  const approver = createApprover();
  const path = policyOf(places);
  if (allows && (await hasPolicy(path))) return allowShell(path);
  const signal = new AbortController().signal;
  await beginPolicy({ path, allowShell: allows, approver, signal });
}

/** The last line: what will be refused, and the command that allows it. */
async function sayShell(
  places: Places,
  install: readonly string[],
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const path = policyOf(places);
  if ((await shellDecision(path)) === 'allow') return;
  const words = [...install, '--allow-shell'];
  output.log(
    `commands of your other devices are refused on this machine (ops.shell in ${path}); allow them: ${words.map(shellWord).join(' ')}`,
  );
}

/** Makes `svc` a command here, so that what pages and alerts say to type works as it stands. */
async function offerCommand(
  {
    program,
    url,
    places: { wrapper, keyFile, stateDir },
    searched,
  }: { program: string | undefined; url: string; places: Places; searched: string },
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const [start = '', ...first] = ownCommand(program);
  const wrapped = { program: program === undefined ? [start] : [start, ...first], url, keyFile, stateDir };
  const placed = await placeWrapper(wrapper, { ...wrapped, user: userName() }, searched).catch((error: Error) => error);
  // The daemon runs: what is only handy does not make the installation a failure.
  if (placed instanceof Error) return output.log(placed.message);
  const { other, isOnPath } = placed;
  const own = `--url ${shellWord(url)} --key-file ${shellWord(keyFile)} --state-dir ${shellWord(stateDir)}`;
  if (other !== undefined) output.log(`${other} is another svc: to approve a schedule give it ${own}`);
  else if (isOnPath) output.log('a schedule that asks for it is approved here with: svc host approve');
  else output.log(`a schedule that asks for it is approved here with: ${wrapper} host approve (not on your PATH)`);
}

/** Copies the program to its place; of a clone there is nothing to copy. */
async function placeProgram(to: string): Promise<string | undefined> {
  const from = ownFile();
  if (from === undefined) return undefined;
  if (from === to) return to;
  try {
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to);
  } catch (error) {
    throw new CommandError(`cannot write ${to}: ${errnoOf(error) ?? 'unknown error'}`);
  }
  return to;
}

async function place(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writePrivate(path, text, false);
  } catch (error) {
    throw new CommandError(`cannot write ${path}: ${errnoOf(error) ?? 'unknown error'}`);
  }
}

function runCommand(
  program: string | undefined,
  url: string,
  places: Places,
  options: InstallOptions,
  name: string | undefined,
): string[] {
  const own = name === undefined ? [] : ['--name', name];
  const where = ['--url', url, '--key-file', places.keyFile, '--state-dir', places.stateDir, ...own];
  return [...ownCommand(program), 'run', ...where, ...givenOf(options)];
}

/** Options that were given for the daemon's runs. */
const givenOf = ({ roots, tags }: InstallOptions): string[] => [
  ...(roots === undefined ? [] : ['--roots', roots]),
  ...(tags === undefined ? [] : ['--tags', tags]),
];

/** Of a user's commands; none is promised to gain rights. One of root is asked to install software, setuid programs too. */
const hardening = `NoNewPrivileges=yes
RestrictSUIDSGID=yes
LockPersonality=yes
`;

/** As `deploy/systemd/svc-host.service`, which says why of each line. */
export const unitText = (
  run: readonly string[],
  { wantedBy, systemctl }: Pick<Places, 'wantedBy' | 'systemctl'>,
): string => `[Unit]
Description=svc host daemon
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${run.map(systemdWord).join(' ')}
Restart=always
RestartSec=10
KillMode=process
TimeoutStopSec=10
OOMPolicy=continue
LimitCORE=0
${systemctl.length > 1 ? hardening : ''}
[Install]
WantedBy=${wantedBy}
`;

async function start({ systemctl, unit }: Places, run: readonly string[], output: ReturnType<typeof createOutput>) {
  if (!existsSync('/run/systemd/system')) {
    output.log(`no systemd runs here, so nothing starts the daemon: start it yourself, at each boot too`);
    output.line(run.map(shellWord).join(' '));
    return;
  }
  const [program = '', ...first] = systemctl;
  const name = 'svc-host.service';
  try {
    await execute(program, [...first, 'daemon-reload']);
    await execute(program, [...first, 'enable', name]);
    await execute(program, [...first, 'restart', name]);
    // A user's services run while that user is logged in, unless the machine keeps them.
    if (first.length > 0) await execute('loginctl', ['enable-linger', userName()]);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new CommandError(`${unit} is written, and systemd did not start it: ${stderr?.trim() || String(error)}`);
  }
  output.log(`the daemon runs and starts with the machine; look at it: ${systemctl.join(' ')} status ${name}`);
}

/** `svc host uninstall`: ends the daemon and takes away what `install` put there; the state directory stays. */
export async function uninstall(options: CommonOptions): Promise<void> {
  const output = createOutput();
  const places = placesOf(options);
  if (!existsSync(places.unit)) throw new CommandError(`${places.unit} is not there: nothing is installed`);
  const [program = '', ...first] = places.systemctl;
  const hasSystemd = existsSync('/run/systemd/system');
  if (hasSystemd) await execute(program, [...first, 'disable', '--now', 'svc-host.service']).catch(() => {});
  const { childEnvironment: environment, home } = loadConfig(options, undefined, 'optional');
  const configDirectory = environment['XDG_CONFIG_HOME'] || join(home, '.config');
  const native = await findInstaller({ stateDir: places.stateDir, command: () => [], environment, configDirectory });
  await native?.sync([]);
  for (const path of [places.unit, places.program, places.keyFile]) await rm(path, { force: true });
  await removeWrapper(places.wrapper);
  // What somebody else put there, and the state, keep their folders.
  for (const folder of [dirname(places.program), places.stateDir]) await rmdir(folder).catch(() => {});
  if (hasSystemd) await execute(program, [...first, 'daemon-reload']).catch(() => {});
  output.log(`uninstalled; ${places.stateDir} keeps who this machine is and what it approved`);
  output.log('its key is valid until it is revoked: svc keys list, svc keys revoke');
}
