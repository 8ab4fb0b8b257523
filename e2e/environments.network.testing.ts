import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isAlive, type Lifetime, temporaryDirectory } from '../apps/host/src/testing.ts';
import { until } from '../apps/server/src/testing.ts';

// Where the path of a user does not have it.
const ip = spawnSync('sh', ['-c', 'PATH=$PATH:/usr/sbin:/sbin; command -v ip'], { encoding: 'utf8' }).stdout.trim();
const run = (...words: string[]): string => execFileSync(ip, words, { encoding: 'utf8', stdio: 'pipe' });
let made = 0;

/**
 * A network of its own with a machine in it: a namespace, and a wire from it to this one. Both ends have addresses of a network
 * that is for tests (RFC 2544).
 */
export class Place implements AsyncDisposable {
  readonly #name: string;
  readonly #wire: string;
  /** The address of this end of the wire. */
  readonly near: string;
  /** That of the other one. */
  readonly far: string;

  constructor() {
    made += 1;
    this.#name = `svc-${process.pid}-${made}`;
    this.#wire = `svc${process.pid}n${made}`;
    const network = freeNetwork();
    [this.near, this.far] = [`${network}.1`, `${network}.2`];
    run('netns', 'add', this.#name);
    run('link', 'add', this.#wire, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name);
    run('address', 'add', `${this.near}/24`, 'dev', this.#wire);
    run('link', 'set', this.#wire, 'up');
    this.inside('link', 'set', 'lo', 'up');
    this.inside('address', 'add', `${this.far}/24`, 'dev', 'eth0');
    this.up();
  }

  /** Words of a command that becomes another one there. */
  get through(): string[] {
    return [ip, 'netns', 'exec', this.#name];
  }

  /** Runs `ip` there. */
  inside(...words: string[]): void {
    run('-n', this.#name, ...words);
  }

  down(): void {
    this.inside('link', 'set', 'eth0', 'down');
  }

  /** The way out is lost each time that the link goes down. */
  up(by = this.near): void {
    this.inside('link', 'set', 'eth0', 'up');
    this.inside('route', 'replace', 'default', 'via', by);
  }

  /** Gives it another address in place of `before`, in the same network. */
  moveWithin(before: string): string {
    const after = before.replace(/\d+$/, (last) => String(Number(last) + 1));
    this.inside('address', 'delete', `${before}/24`, 'dev', 'eth0');
    this.inside('address', 'add', `${after}/24`, 'dev', 'eth0');
    this.up();
    return after;
  }

  /** Gives it an address of another network in place of `before`, and a way from there. */
  moveAway(before: string): string {
    const network = freeNetwork();
    run('address', 'add', `${network}.1/24`, 'dev', this.#wire);
    this.inside('address', 'delete', `${before}/24`, 'dev', 'eth0');
    this.inside('address', 'add', `${network}.2/24`, 'dev', 'eth0');
    this.up(`${network}.1`);
    return `${network}.2`;
  }

  /** Ends what runs there, and takes it away. */
  async [Symbol.asyncDispose](): Promise<void> {
    const pids = () => run('netns', 'pids', this.#name).split('\n').filter(Boolean).map(Number);
    await until(() => {
      const left = pids();
      for (const pid of left) killIfThere(pid);
      return left.length === 0;
    });
    remove(this.#name, this.#wire);
  }
}

/** The first three numbers of a network that no address of this machine is in. */
function freeNetwork(): string {
  const used = run('-4', '-oneline', 'address');
  for (let at = 0; at < 256; at += 1) {
    const network = `198.18.${(process.pid + at) % 256}`;
    if (!used.includes(` ${network}.`)) return network;
  }
  throw new Error('no network of 198.18.0.0/16 is free');
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Takes a namespace away. Its wire would stay until the last connection in it has timed out. */
function remove(name: string, wire: string): void {
  spawnSync(ip, ['link', 'delete', wire]);
  spawnSync(ip, ['netns', 'delete', name]);
}

/** Takes away what runs have left that were killed. */
function sweep(): void {
  for (const [name, pid = '', count = ''] of run('netns', 'list').matchAll(/^svc-(\d+)-(\d+)/gm))
    if (!isAlive(Number(pid))) remove(name, `svc${pid}n${count}`);
}

/** Why this machine makes no networks; false if it does. */
export const withoutNetworks: string | false = await (async () => {
  const needs = 'needs root on Linux, and network namespaces';
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || ip === '') return needs;
  try {
    sweep();
    await new Place()[Symbol.asyncDispose]();
    return false;
  } catch {
    return needs;
  }
})();

/** Starts a program of these tests in a place, until a lifetime ends; answers its first line, and its process. */
async function startIn(context: Lifetime, place: Place, program: 'door' | 'server', ...words: string[]) {
  const file = join(import.meta.dirname, `environments.network.${program}.ts`);
  const [command, ...args] = [...place.through, process.execPath, file, ...words] as [string, ...string[]];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'close').then(() => assert.fail(`the ${program} ended`)),
  ])) as [string];
  return { line, pid: child.pid as number };
}

/** Starts a server in a place: the port of it there, and a socket by which it is asked from anywhere. */
export async function startServer(context: Lifetime, place: Place) {
  const control = join(await temporaryDirectory(context), 's');
  const { line, pid } = await startIn(context, place, 'server', control);
  return { port: Number(line), pid, control, process: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
}

/** Opens a door to a port of the loopback of a place; answers the socket that is it. */
export async function openDoor(context: Lifetime, place: Place, port: number): Promise<string> {
  const path = join(await temporaryDirectory(context), 's');
  await startIn(context, place, 'door', path, String(port));
  return path;
}
