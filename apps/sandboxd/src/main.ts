import { join, resolve } from 'node:path';
import { Command } from 'commander';
import pino from 'pino';
import pretty from 'pino-pretty';
import { clearNode } from './clear.ts';
import { imagesCommand } from './commands.ts';
import { slotsFor, sparesFor, usableMemory, warmFor } from './memory.ts';
import { lockNode, lockNodeWhenFree } from './node-lock.ts';
import { defaultPypiHosts, npmHosts, registriesOf } from './registries.ts';
import { serve } from './serve.ts';
import { openParts } from './wiring.ts';

/** Processes and threads of the host for one sandbox: gVisor has some of its own for each that runs inside. */
const mostHostProcesses = 4096;
/** A gateway that stops with this process ends its commands sooner. */
const drainMs = 8_000;

interface Options {
  dir: string;
  socket?: string;
  group?: string;
  images?: string;
  slots?: string;
  warm?: string;
  memory: string;
  cpus: string;
  workspace: string;
  allowHosts: string;
  ports: string;
  pypiHosts: string;
  npmHosts?: string;
  logLevel: string;
  systemPackages: boolean;
  tied?: true;
  build: boolean;
}

/** Reads the command line: `sandboxd run`, `clear`, `images`. */
function commandLine(): Command {
  // The images are a command of svc.
  const program = new Command(process.argv[2] === 'images' ? 'svc' : 'sandboxd');
  program.configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) });
  program
    .command('run', { isDefault: true })
    .description('hold the sandboxes of this machine')
    .requiredOption('--dir <directory>', 'state of the node; below 60 characters, its sockets are in it')
    .option('--socket <path>', 'where it listens (default: <dir>/sandboxd.sock)')
    .option('--group <number>', 'who may use the socket, where its folder is of the group root')
    .option('--images <directory>', 'root file systems (default: <dir>/images)')
    .option('--slots <count>', 'sandboxes that may run at once (default: as many as have memory here)')
    .option('--warm <count>', 'restored sandboxes that wait (default: 2, below 2 GiB of memory none)')
    .option('--memory <MiB>', 'memory of user code in one sandbox', '1024')
    .option('--cpus <count>', 'cores of one sandbox, 0.5 for half of one', '1')
    .option('--workspace <MiB>', 'size of one workspace', '2048')
    .option('--allow-hosts <names>', 'comma-separated hosts whose addresses are not judged', '')
    .option('--ports <numbers>', 'comma-separated ports that may be reached outside', '80,443')
    .option(
      '--pypi-hosts <names>',
      'what the preset pypi reaches: its index (host or address), then other hosts',
      defaultPypiHosts,
    )
    .option(
      '--npm-hosts <names>',
      "what the preset npm reaches: its registry (host or address), then other hosts (default: npm's own setting)",
    )
    .option('--log-level <level>', 'as of pino', 'info')
    .option('--no-system-packages', 'install nothing with apt')
    .option('--tied', 'end when standard input does: with whoever started it')
    .option('--no-build', 'build no image before a sandbox needs it')
    .action(run);
  program
    .command('clear')
    .description('end every sandbox of a node that is not running, and remove all that it keeps')
    .requiredOption('--dir <directory>', 'state of the node')
    .action(({ dir }: { dir: string }) => clearNode(resolve(dir)));
  const images = imagesCommand('images');
  for (const command of [images, ...images.commands]) command.copyInheritedSettings(program);
  program.addCommand(images);
  return program;
}

/** As the gateway logs: the same times, and text for people on a terminal. */
function createLogger(level: string) {
  const destination = process.stderr.isTTY
    ? pretty({ destination: 2, sync: true, colorize: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
    : pino.destination({ fd: 2, sync: true });
  // Nothing is written above warnings, and a stack is not for a person at a terminal.
  const serializers = process.stderr.isTTY
    ? { err: (error: unknown) => (error instanceof Error ? error.message : error) }
    : {};
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ name: 'sandboxd', base: null, level, timestamp, serializers }, destination);
}

/** Runs sandboxd until it is told to stop; sandboxes go on without it. */
async function run(options: Options): Promise<void> {
  const logger = createLogger(options.logLevel);
  const dir = resolve(options.dir);
  const stop = Promise.withResolvers<void>();
  if (options.tied) process.stdin.once('end', stop.resolve).once('error', stop.resolve).resume();
  const log = (message: string, details: object = {}): void => logger.info(details, message);
  // The starter would only start it again: it waits, to take over when the other ends.
  const lock = options.tied
    ? await Promise.race([
        lockNodeWhenFree(dir, (why) => logger.warn(`${why}; until it ends this one only waits`)),
        stop.promise,
      ])
    : await lockNode(dir);
  if (!lock) process.exit(0);
  const { systemPackages } = options;
  const memoryBytes = mebibytes(options.memory);
  const usableBytes = usableMemory();
  const images = resolve(options.images ?? join(dir, 'images'));
  const [parts, npm] = await Promise.all([
    openParts({ dir, images, systemPackages, workspaceBytes: mebibytes(options.workspace), log }),
    options.npmHosts === undefined ? npmHosts(log) : listOf(options.npmHosts),
  ]);
  const registries = registriesOf({ pypi: listOf(options.pypiHosts), npm });
  const serving = await serve(parts, {
    dir,
    socket: resolve(options.socket ?? join(dir, 'sandboxd.sock')),
    group: options.group === undefined ? undefined : Number(options.group),
    slots: options.slots === undefined ? slotsFor(memoryBytes, usableBytes) : Number(options.slots),
    warm: options.warm === undefined ? warmFor(usableBytes) : Number(options.warm),
    spares: sparesFor(usableBytes),
    limits: { memoryBytes, pids: mostHostProcesses, cpus: Number(options.cpus) },
    rules: {
      allowHosts: listOf(options.allowHosts),
      ports: listOf(options.ports).map(Number),
      presets: registries.hosts,
    },
    presetEnv: registries.env,
    build: options.build,
  });
  log('ready');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.resolve());
  await stop.promise;
  await serving.drain(drainMs);
  await serving.close();
  await parts.scanner.close();
  await parts.workspaces.close();
  // The directory may be removed afterwards: nothing should be mounted in it.
  if ((await parts.groups.list()).length === 0) await parts.workspaces.unmount().catch(() => {});
  await lock.release();
  process.exit(0);
}

const mebibytes = (text: string): number => Number(text) * 1_048_576;

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

try {
  await commandLine().parseAsync();
} catch (error) {
  process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
