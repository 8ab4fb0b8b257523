import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Result of one run of wrk; latencies in milliseconds. */
export interface Load {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Requests without an answer below 400: connect, read, write, status and timeout errors together. */
  readonly failed: number;
  readonly requests: number;
}

/** How wrk loads a server. */
export interface LoadOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly headers?: Record<string, string>;
  /** Requests a second over all connections, at random distances; undefined: as many as are answered. */
  readonly rate?: number;
  /** Body of a POST; undefined: GET. */
  readonly body?: string;
}

const script = join(import.meta.dirname, 'wrk.lua');

/** Loads `url` from one thread of wrk. */
export async function wrk(url: string, options: LoadOptions): Promise<Load> {
  const { seconds, connections, headers = {}, rate, body } = options;
  const pause = rate === undefined ? 0 : Math.round((connections / rate) * 1000);
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const size = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`];
  const args = [
    ...size,
    '--latency',
    ...given,
    '-s',
    script,
    url,
    '--',
    String(pause),
    ...(body === undefined ? [] : [body]),
  ];
  const { stdout } = await promisify(execFile)('wrk', args);
  const result = /^result (.*)$/m.exec(stdout)?.[1];
  if (result === undefined) throw new Error(`wrk said:\n${stdout}`);
  const figures = JSON.parse(result) as Omit<Load, 'perSecond'> & { seconds: number };
  return { ...figures, perSecond: figures.requests / figures.seconds };
}
