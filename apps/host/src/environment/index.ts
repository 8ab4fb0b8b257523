import { setTimeout as sleep } from 'node:timers/promises';
import { createBackoff } from '../backoff.ts';
import { dropEnrolment, type Enrolment, readEnrolments } from './enrolments.ts';
import { type EnvironmentParts, machineService } from './machine.ts';
import { createMachineUsers, type MachineUsers } from './users.ts';
import { linuxUsers } from './users.system.ts';
import { Refused, serveTunnel } from './tunnel.ts';

const lookEveryMs = 2_000;
const retryMs = [500, 15_000] as const;
/** A connection that lasted so long was one: the next attempt begins anew. */
const stableMs = 15_000;

/** Serves every environment that this machine is enrolled in; answers how it is ended. */
export function startEnvironments(parts: EnvironmentParts): { stop: () => Promise<void> } {
  const end = new AbortController();
  const { stateDir } = parts.config;
  const users = createMachineUsers({ stateDir, system: linuxUsers, log: parts.log });
  const served = new Map<string, { relayUrl: string; abort: AbortController; over: Promise<void> }>();
  const look = async (): Promise<void> => {
    const wanted = new Map((await readEnrolments(stateDir)).map((one) => [one.environment_id, one]));
    for (const [id, { relayUrl, abort }] of served) {
      if (wanted.get(id)?.relay_url !== relayUrl) abort.abort();
    }
    for (const [id, one] of wanted) {
      if (served.has(id) || end.signal.aborted) continue;
      const abort = new AbortController();
      const signal = AbortSignal.any([abort.signal, end.signal]);
      const over = stay(parts, one, users, signal).finally(() => served.delete(id));
      served.set(id, { relayUrl: one.relay_url, abort, over });
    }
  };
  const looking = (async () => {
    while (!end.signal.aborted) {
      await look().catch((error: unknown) => parts.log(`environments: ${String(error)}`));
      await sleep(lookEveryMs, undefined, { signal: end.signal }).catch(() => {});
    }
  })();
  return {
    async stop() {
      end.abort();
      await looking;
      await Promise.all([...served.values()].map(({ over }) => over));
    },
  };
}

/** Connects again and again, until the environment takes this machine no more. */
async function stay(
  parts: EnvironmentParts,
  enrolment: Enrolment,
  users: MachineUsers,
  signal: AbortSignal,
): Promise<void> {
  const { config, deviceId, log } = parts;
  const { environment_id: id, relay_url: relayUrl } = enrolment;
  const url = `${relayUrl.replace(/\/+$/, '')}/v1/environments/${id}/serve`;
  const service = machineService(parts, id, users);
  const backoff = createBackoff(...retryMs);
  let told = '';
  while (!signal.aborted) {
    const began = performance.now();
    try {
      log(`environment ${id}: connecting`);
      await serveTunnel({ url, key: config.key, deviceId, service, signal });
      told = '';
    } catch (error) {
      const line = error instanceof Error ? error.message : String(error);
      if (error instanceof Refused && error.status === 404) {
        await dropEnrolment(config.stateDir, id);
        if ((await users.names(id)).length > 0) await users.provision(id, []);
        return log(
          `environment ${id} is gone, or was put aside: it is served no more. Enrol this machine again if it should be`,
        );
      }
      // The same reason again and again is one line.
      if (line !== told && !signal.aborted) log(`environment ${id}: ${line}`);
      told = line;
    }
    if (performance.now() - began > stableMs) backoff.reset();
    await sleep(backoff.next(), undefined, { signal }).catch(() => {});
  }
}
