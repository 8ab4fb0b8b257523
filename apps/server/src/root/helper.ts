// The process of a platform that stays root (`start.ts` begins it). It installs what reads recordings, and does two things when
// the platform asks: it runs the node agent, and opens the data dir again when somebody closed it. It ends with the platform.
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { systemClock } from '../kernel/base/clock.ts';
import { createLog } from '../kernel/base/log.ts';
import { repairFolders } from '../postgres/embedded.ts';
import { installMediaPackages } from '../media-packages.ts';
import { type Supervised, superviseSandboxd } from '../sandboxd.supervise.ts';
import { dataDirMode } from './adopt.ts';

/** The duties of a helper, settled before the platform starts. */
export interface Duties {
  /** The process that it serves. */
  platform: number;
  dataDir: string;
  socket: string;
  /** The group that may connect. */
  gid: number;
  logLevel: string;
  /** Arguments of the node agent; undefined: it runs elsewhere. */
  sandboxd: readonly string[] | undefined;
  /** Whether it may install packages. */
  systemPackages: boolean;
}

/** Requests of the platform, a line each. */
export type Request = 'node' | 'open' | 'end';

const lookMs = 500;
const longestLine = 64;

const duties = JSON.parse(process.argv[2] as string) as Duties;
const log = createLog(duties.logLevel);
let node: Supervised | undefined;
let isEnding = false;

const acts: Record<Request, () => void> = {
  node() {
    if (duties.sandboxd) node ??= superviseSandboxd(duties.sandboxd, { clock: systemClock, log, env: undefined });
  },
  open() {
    chmodSync(duties.dataDir, dataDirMode);
    log.warn({ folders: [duties.dataDir, ...repairFolders(duties.dataDir)] }, 'opened folders again');
  },
  end: () => void end(),
};

async function end(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  await node?.stop();
  rmSync(duties.socket, { force: true });
  process.exit(0);
}

/** The platform's connection; there is one. */
function follow(connection: Socket): void {
  server.close();
  let text = '';
  connection.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      const word = text.slice(0, at);
      text = text.slice(at + 1);
      if (Object.hasOwn(acts, word)) acts[word as Request]();
    }
    if (text.length > longestLine) connection.destroy();
  });
  connection.on('error', () => {}).once('close', () => void end());
}

if (process.ppid !== duties.platform) process.exit(0);
void installMediaPackages(duties.systemPackages, log);
const server = createServer(follow);
server.listen(duties.socket, () => {
  chownSync(duties.socket, 0, duties.gid);
  chmodSync(duties.socket, 0o660);
});
server.once('error', (error) => {
  log.error({ err: error }, 'the process that stays root cannot listen');
  process.exit(1);
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void end());
// A platform that ended before it connected.
setInterval(() => {
  if (process.ppid !== duties.platform) void end();
}, lookMs);
