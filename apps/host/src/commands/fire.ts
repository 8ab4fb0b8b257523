import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@svc/sdk';
import { type CommonOptions, type Config, loadConfig } from '../config.ts';
import { createProcessGroups } from '../groups.ts';
import { lockHolder } from '@svc/process-lock';
import { readCache, selectNative, wasReached, writeCache } from '../native/cache.ts';
import { fireSlot, sendOutcomes } from '../native/slots.ts';
import { createOutput, type Output } from '../output.ts';
import { devicePlatform } from '../ops/info.ts';
import { openPolicy, type PolicySource } from '../policy.ts';
import { kindsOf } from '../runs/claims.ts';
import { listSchedules } from '../schedules.ts';
import type { Machine } from '../runs/context.ts';
import { createRunnerOf, openMachine } from '../runs/index.ts';
import type { Journal } from '../runs/journal.ts';
import { ensureStateDirectory, loadDevice } from '../state.ts';

/** Options of `svc host fire`; policy and roots as the daemon has them. */
export interface FireOptions extends CommonOptions {
  policy?: string;
  roots?: string;
}

const killAfterMs = 2000;
const reachMs = 5000;

/**
 * `svc host fire`: what the operating system's scheduler calls every minute. The daemon claims slots while it hears the
 * gateway. Without a daemon this command claims them, if it has a key; without a gateway it runs the slot that is due.
 */
export async function fire(id: string, options: FireOptions): Promise<void> {
  const config = loadConfig(options, undefined, 'optional');
  const output = createOutput(config.key);
  await ensureStateDirectory(config.stateDir);
  const daemon = await lockHolder(join(config.stateDir, 'daemon.lock'));
  if (daemon !== undefined && (await wasReached(config.stateDir))) return output.line('the daemon claims it');
  const groups = createProcessGroups();
  process.once('exit', () => groups.killAll());
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => stop.abort('interrupted'));
  const policyPath = options.policy ?? join(config.stateDir, 'host.json');
  const roots = options.roots?.split(',');
  const policy = await openPolicy({ path: policyPath, home: config.home, roots, onFault: output.log });
  const own = [
    config.stateDir,
    config.profilesDir,
    policyPath,
    ...(config.keyFile === undefined ? [] : [config.keyFile]),
  ];
  const hidden = await Promise.all(own.map((path) => realpath(path).catch(() => path)));
  const { journal, machine } = await openMachine({ config, groups, hidden, killAfterMs });
  if (daemon === undefined && config.key !== '') {
    const claimed = await claimInPlaceOfDaemon({ config, output, policy, journal, machine, stop: stop.signal });
    if (claimed !== undefined) return output.line(`claimed ${claimed} runs`);
  }
  const cache = await readCache(config.stateDir);
  output.line(await fireSlot(id, cache, { journal, machine, policy, log: output.log, signal: stop.signal }));
}

interface FireContext {
  config: Config;
  output: Output;
  policy: PolicySource;
  journal: Journal;
  machine: Machine;
  stop: AbortSignal;
}

/** Claims and does what is there for this machine; answers how many runs, undefined when the gateway is out of reach. */
async function claimInPlaceOfDaemon(context: FireContext): Promise<number | undefined> {
  const { config, output, policy, journal, machine, stop } = context;
  const { id, name } = await loadDevice(config.stateDir);
  const device = { id, ...(name && { name }), platform: devicePlatform };
  const client = createClient({ baseUrl: config.url, retries: 0, apiKey: config.key, device });
  const call = () => ({ signal: AbortSignal.any([stop, AbortSignal.timeout(reachMs)]) });
  const rules = await policy.current();
  try {
    await writeCache(config.stateDir, selectNative(await listSchedules(client, call().signal), id, rules));
  } catch {
    return undefined;
  }
  await sendOutcomes(client, journal, output.log);
  const runner = createRunnerOf({ client, policy, log: output.log, config }, journal, machine, stop);
  stop.addEventListener('abort', () => void runner.stop(), { once: true });
  for (let claimed = 0; ; claimed += 1) {
    const body = { kinds: kindsOf(rules), tags: [...rules.tags] };
    const asked = performance.now();
    const answer = stop.aborted ? undefined : await client.scheduler.claim({ body }, call()).catch(() => undefined);
    if (!answer?.run) return claimed;
    runner.start(answer.run, asked);
    await runner.idle();
  }
}
