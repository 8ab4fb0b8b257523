import type { Config } from './config.ts';
import { findDataDir } from './postgres/datadir.ts';
import { askGateway, findRunningProcesses, localUrl, type RunningProcess } from './running.ts';

/** What `svc status` tells. */
export interface Status {
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
  const answer = found.port === undefined ? undefined : await askGateway(localUrl(found), '/health');
  const ready =
    found.port === undefined ||
    (answer?.instance === instance_id && (await askGateway(localUrl(found), '/health/ready'))?.status === 200);
  return { part, pid, ready, url: found.base_url ?? null, since, instance_id };
}

/** The exit code of `svc status`: 0 all well, 1 not ready, 3 nothing runs, as service managers have it. */
export const statusCode = ({ running, processes }: Status): number =>
  !running ? 3 : processes.every(({ ready }) => ready) ? 0 : 1;
