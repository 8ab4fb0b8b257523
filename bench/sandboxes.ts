// Sandboxes through the API, beside a cold gVisor and a bubblewrap of the same image, and the bare host.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Platform, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench, type Row, type Target } from './lib/report.ts';
import { densityOf, imageOf, images, nodeIn, waitForPool, warm } from './lib/sandboxes.ts';
import { median, percentile } from './lib/stats.ts';

const run = promisify(execFile);
/** Limit of the design for a fork of `count`, ms. */
const forkLimit = (count: number): number => 300 + 160 * count;

/** Durations of what succeeded, ms, and how many did not. */
class Sample {
  readonly ms: number[] = [];
  failed = 0;

  async take<T>(work: () => Promise<T>): Promise<T | undefined> {
    const began = performance.now();
    try {
      const result = await work();
      this.ms.push(performance.now() - began);
      return result;
    } catch {
      this.failed += 1;
      return undefined;
    }
  }

  get p50(): number {
    return median(this.ms);
  }
}

interface Box {
  id: string;
}

await bench('sandboxes', { rounds: 15, density: 10 }, async ({ rounds, density }, say) => {
  using dataDir = temporaryDataDir();
  using node = nodeIn(join(dataDir.path, 'sandboxd'));
  const environment = { SVC_SANDBOX_IMAGES: images, SVC_SANDBOX_WARM: String(warm) };
  await using platform = await startPlatform(dataDir.path, environment);
  const call = caller(platform);
  const filled = (): Promise<void> => waitForPool(node.dir);
  say('waiting for the warm pool');
  await filled();
  const samples = samplesByName();
  const rootfs = imageOf();
  const bundle = bundleIn(dataDir.path, rootfs);
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    await peers(samples, rootfs, bundle);
    await filled();
    await ours(call, samples);
  }
  const inside = { v2: await bareInside(call, 'v2', 300), v1: await bareInside(call, 'v1', 300) };
  for (const count of [1, 3, 5]) {
    for (let round = 0; round < Math.max(3, rounds / 3); round++) {
      say(`fork of ${count}`);
      await filled();
      await fork(call, samples.get(`svc, fork of ${count}`), count);
    }
  }
  say(`${density} idle sandboxes`);
  const idle = { v2: await densityOf(node, 'v2', density), v1: await densityOf(node, 'v1', density) };
  return { rows: rowsOf(samples, inside, idle), targets: targetsOf(samples, inside) };
});

type Samples = { get(name: string): Sample; all(): [string, Sample][] };

function samplesByName(): Samples {
  const samples = new Map<string, Sample>();
  return {
    all: () => [...samples],
    get(name) {
      const sample = samples.get(name) ?? new Sample();
      samples.set(name, sample);
      return sample;
    },
  };
}

type Call = (method: string, path: string, body?: unknown) => Promise<never>;

function caller({ port, key }: Platform): Call {
  return async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/sandboxes${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as never;
  };
}

/** A bundle with the least in it: the same image, the same platform, one program. */
function bundleIn(dir: string, rootfs: string): string {
  const bundle = join(dir, 'bundle');
  mkdirSync(bundle);
  const config = {
    ociVersion: '1.0.0',
    process: { user: { uid: 0, gid: 0 }, args: ['/bin/true'], env: ['PATH=/usr/bin:/bin'], cwd: '/' },
    root: { path: rootfs, readonly: true },
    mounts: [{ destination: '/proc', type: 'proc', source: 'proc' }],
    linux: { namespaces: ['pid', 'network', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
  };
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(config));
  return bundle;
}

function runsc(): string {
  const dir = join(images, 'runtime');
  return join(dir, readdirSync(dir).find((name) => name.startsWith('runsc')) ?? 'runsc');
}

async function peers(samples: Samples, rootfs: string, bundle: string): Promise<void> {
  const flags = [
    '--root',
    join(bundle, 'state'),
    '--platform=systrap',
    '--network=none',
    '--ignore-cgroups',
    '--overlay2=none',
  ];
  await samples
    .get('runsc run, cold')
    .take(() => run(runsc(), [...flags, 'run', '--bundle', bundle, `b${randomUUID()}`]));
  const isolated = ['--unshare-all', '--die-with-parent', '--ro-bind', rootfs, '/', '--proc', '/proc', '--dev', '/dev'];
  for (let n = 0; n < 5; n++) {
    await samples.get('bwrap, cold').take(() => run('bwrap', [...isolated, '/bin/true']));
    await samples.get('bare host').take(() => run('/bin/true'));
  }
}

async function ours(call: Call, samples: Samples): Promise<void> {
  const took = (name: string, method: string, path: string, body?: unknown) =>
    samples.get(`svc, ${name}`).take(() => call(method, path, body)) as Promise<Box | undefined>;
  for (const backend of ['v2', 'v1']) {
    const whole = samples.get(`svc ${backend}, create and exec`);
    const box = await whole.take(async () => {
      const made = await samples.get(`svc ${backend}, create`).take(() => call('POST', '', { backend }));
      const { id } = made as unknown as Box;
      await call('POST', `/${id}/exec`, { cmd: ['true'] });
      return { id };
    });
    if (!box) continue;
    for (let n = 0; n < 5; n++) await took(`exec (${backend})`, 'POST', `/${box.id}/exec`, { cmd: ['true'] });
    if (backend === 'v2') {
      for (let n = 0; n < 5; n++) await took('run_code', 'POST', `/${box.id}/run_code`, { code: '1' });
      await took('pause', 'POST', `/${box.id}/pause`);
      await took('resume', 'POST', `/${box.id}/resume`);
    }
    await call('DELETE', `/${box.id}`);
  }
}

async function fork(call: Call, sample: Sample, count: number): Promise<void> {
  const parent = (await call('POST', '', { backend: 'v2' })) as Box;
  const forked = (await sample.take(() => call('POST', `/${parent.id}/fork`, { count }))) as
    | { data: (Box & { restored: boolean })[] }
    | undefined;
  sample.failed += forked?.data.filter(({ restored }) => !restored).length ?? 0;
  for (const { id } of [parent, ...(forked?.data ?? [])]) await call('DELETE', `/${id}`);
}

function spawnLoop(count: number): string {
  return `
import json, os, time
def once():
    began = time.perf_counter()
    os.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ), 0)
    return (time.perf_counter() - began) * 1000
json.dumps([once() for _ in range(${count})])`;
}

/** The same program, started by a loop inside the sandbox; and through the API, in the same one. */
async function bareInside(call: Call, backend: string, count: number): Promise<{ bare: number[]; exec: Sample }> {
  const { id } = (await call('POST', '', { backend })) as Box;
  const exec = new Sample();
  const bare: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const { result } = (await call('POST', `/${id}/run_code`, { code: spawnLoop(count / 5) })) as { result: string };
    bare.push(...JSON.parse(result.slice(1, -1)));
    for (let n = 0; n < count / 5; n++) await exec.take(() => call('POST', `/${id}/exec`, { cmd: ['true'] }));
  }
  await call('DELETE', `/${id}`);
  return { bare, exec };
}

type Inside = Record<'v1' | 'v2', { bare: number[]; exec: Sample }>;

function rowsOf(samples: Samples, inside: Inside, idle: Record<'v1' | 'v2', number>): Row[] {
  const cold = samples.get('runsc run, cold').p50;
  const bubble = samples.get('bwrap, cold').p50;
  const row = (who: string, ms: readonly number[], failed: number): Row => {
    const p50 = median(ms);
    return {
      who,
      n: ms.length,
      'p50 ms': p50,
      'p99 ms': percentile(ms, 0.99),
      failed,
      ': runsc': p50 / cold,
      ': bwrap': p50 / bubble,
    };
  };
  return [
    ...samples.all().map(([name, { ms, failed }]) => row(name, ms, failed)),
    ...(['v2', 'v1'] as const).flatMap((backend) => [
      row(`${backend}, /bin/true from a loop inside`, inside[backend].bare, 0),
      row(`${backend}, the same by exec of the API`, inside[backend].exec.ms, inside[backend].exec.failed),
    ]),
    ...(['v2', 'v1'] as const).map((backend) => ({
      who: `${backend}, idle: ${idle[backend].toFixed(1)} MiB each (PSS with the shim)`,
      'a GiB holds': 1024 / idle[backend],
    })),
  ];
}

function targetsOf(samples: Samples, inside: Inside): Target[] {
  const overhead = (backend: 'v1' | 'v2'): number => inside[backend].exec.p50 - median(inside[backend].bare);
  return [
    atMost('create from the pool, p50 ms', samples.get('svc v2, create').p50, 50),
    atMost('exec less the bare command, v2, p50 ms', overhead('v2'), 5),
    atMost('exec less the bare command, v1, p50 ms', overhead('v1'), 5),
    ...[1, 3, 5].map((count) =>
      atMost(`fork of ${count}, p50 ms`, samples.get(`svc, fork of ${count}`).p50, forkLimit(count)),
    ),
  ];
}
