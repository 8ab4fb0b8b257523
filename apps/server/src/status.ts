import type { Config } from './config.ts';
import { findDataDir } from './postgres/datadir.ts';
import { askGateway, findRunningProcesses, localUrl, type RunningProcess } from './running.ts';

/** The answer of `svc status`. */
interface Status {
  running: boolean;
  data_dir: string;
  processes: { part: string; pid: number; ready: boolean; url: string | null; since: string; instance_id: string }[];
}

/** Looks which processes run on the data dir, and asks those that serve whether they are ready. */
export async function status(config: Config): Promise<Status> {
  const dataDir = findDataDir(config);
  const processes = await Promise.all(findRunningProcesses(dataDir).map(statusOf));
  return { running: processes.length > 0, data_dir: dataDir, processes };
}

async function statusOf(found: RunningProcess) {
  const { part, pid, since, instance_id } = found;
  const { probe_host: host, probe_port: port } = found;
  const at = found.port !== undefined ? localUrl(found) : port !== undefined ? localUrl({ host, port }) : undefined;
  // One that answers nowhere runs: more is not known.
  const ready =
    at === undefined ||
    ((await askGateway(at, '/health'))?.instance === instance_id &&
      (await askGateway(at, '/health/ready'))?.status === 200);
  return { part, pid, ready, url: found.base_url ?? null, since, instance_id };
}

/** The exit code of `svc status`: 0 all well, 1 not ready, 3 nothing runs, as service managers have it. */
export const statusCode = ({ running, processes }: Status): number =>
  !running ? 3 : processes.every(({ ready }) => ready) ? 0 : 1;
