import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { trustCertificate } from '../../apps/server/src/testing.tls.ts';
import { freePort, noSandboxes, run, start, startPlatform, temporaryFolder } from '../platform.ts';

/** Who is there: the owner, one who steals, and one who is careless. */
export const people = ['owner', 'thief', 'careless'] as const;
export type Person = (typeof people)[number];

/** A running platform with three accounts. */
export interface World extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  /** The gateway's process. */
  readonly process: ChildProcess;
  readonly keys: Readonly<Record<Person, string>>;
  readonly emails: Readonly<Record<Person, string>>;
  /** A folder for what an attack needs of its own. */
  readonly folder: string;
  /** A server that the platform may reach, and that takes its time: where webhooks of the attacks go. */
  readonly slow: { url: string; answer(): void; asked(): number; told(): number };
  /** Runs a command of the product on the data dir. */
  svc(args: readonly string[]): ReturnType<typeof run>;
  /** Starts a host's daemon under a person's key and waits until it is present; answers its device. */
  daemon(person: Person, name: string, args?: readonly string[]): Promise<string>;
  /** Stops every process of the database without a word, or lets them go on. */
  freezeDatabase(frozen: boolean): void;
}

/** Starts a platform; `environment` adds settings, such as those for sandboxes. */
export async function openWorld(environment: Record<string, string> = noSandboxes): Promise<World> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(temporaryFolder());
  const slow = opening.use(await openSlow(folder.path));
  const dataDir = join(folder.path, 'data');
  const settings = {
    SVC_DATABASE_TIMEOUT_MS: '5000',
    SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    SVC_FETCH_PORTS: `80,443,${slow.port}`,
    NODE_EXTRA_CA_CERTS: slow.certificate,
    ...environment,
  };
  const platform = await startPlatform(dataDir, await freePort(), settings);
  const keys: Record<Person, string> = { owner: platform.key, thief: '', careless: '' };
  opening.defer(async () => void (await platform.end()));
  opening.defer(async () => {
    for (const key of Object.values(keys)) await destroySandboxes(platform.url, key);
  });
  const svc = (args: readonly string[]) => run([...args, '--data-dir', dataDir]);
  const emails = { owner: 'owner@localhost', thief: 'thief@example.test', careless: 'careless@example.test' };
  for (const person of ['thief', 'careless'] as const) {
    const email = emails[person];
    await required(svc(['accounts', 'create', '--email', email, '--tool-level', 'l3_sandbox']));
    const { stdout } = await required(svc(['keys', 'create', '--email', email, '--name', person, '--json']));
    keys[person] = (JSON.parse(stdout) as { key: string }).key;
  }
  const daemons = opening.adopt([] as ReturnType<typeof start>[], async (all) => {
    await Promise.all(all.map((daemon) => daemon.end('SIGKILL')));
  });
  const own = join(folder.path, 'own');
  mkdirSync(own);
  const stack = opening.move();
  return {
    url: platform.url,
    dataDir,
    process: platform.process,
    keys,
    emails,
    folder: own,
    slow,
    svc,
    daemon: async (person, name, args = []) => {
      const state = join(folder.path, `host-${name}`);
      const daemon = start(['host', 'run', '--state-dir', state, '--name', name, ...args], {
        SVC_API_KEY: keys[person],
        SVC_BASE_URL: platform.url,
      });
      daemons.push(daemon);
      const [, device = ''] = await daemon.printed(/connected as \S+ \(([0-9a-f-]{36})\)/);
      return device;
    },
    freezeDatabase(frozen) {
      const pid = findRunning(dataDir)?.pid;
      if (pid === undefined) throw new Error('the database does not run');
      for (const each of [pid, ...childrenOf(pid)]) process.kill(each, frozen ? 'SIGSTOP' : 'SIGCONT');
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function required(command: ReturnType<typeof run>): ReturnType<typeof run> {
  const ended = await command;
  if (ended.code !== 0) throw new Error(`a command of the set-up failed: ${ended.stderr}`);
  return ended;
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const file = `/proc/${pid}/stat`;
      const fields = existsSync(file) ? readIfThere(file).split(') ').at(-1)?.split(' ') : undefined;
      return Number(fields?.[1]) === parent;
    })
    .map(Number);
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function destroySandboxes(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/v1/sandboxes`, { headers });
  const { data = [] } = (await answer.json()) as { data?: { id: string }[] };
  await Promise.all(data.map(({ id }) => fetch(`${url}/v1/sandboxes/${id}`, { method: 'DELETE', headers })));
}

async function openSlow(folder: string) {
  const waiting: (() => void)[] = [];
  let [asked, told] = [0, 0];
  const { key, cert, [Symbol.dispose]: distrust } = trustCertificate();
  const certificate = join(folder, 'slow.pem');
  writeFileSync(certificate, cert);
  const server = createServer({ key, cert }, (request, response) => {
    asked += 1;
    request.resume();
    if (request.url === '/now') {
      told += 1;
      response.end('ok');
    } else waiting.push(() => response.end('late'));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const answer = (): void => {
    for (const each of waiting.splice(0)) each();
  };
  return {
    port,
    certificate,
    url: `https://127.0.0.1:${port}`,
    answer,
    asked: () => asked,
    /** Requests to `/now`, which is answered at once. */
    told: () => told,
    [Symbol.asyncDispose]: async () => {
      distrust();
      answer();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A repository whose owner works in it. */
export function makeRepository(path: string): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'file.txt'), 'text\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.test', ...args], {
      cwd: path,
      stdio: 'ignore',
    });
  git('init');
  git('add', '.');
  git('commit', '-m', 'first');
}
