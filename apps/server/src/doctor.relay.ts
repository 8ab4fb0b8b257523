import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, environmentValue } from './config.ts';
import type { Check } from './doctor.check.ts';
import { askGateway, type RunningProcess } from './running.ts';

/** Any environment: without a key nobody learns whether there is one. */
const anyStatus = '/v1/environments/00000000-0000-4000-8000-000000000000/status';
const withoutKey = 401;

/** Whether relays answer where daemons and clients are told to look, and at the address that other relays get. */
export async function relays(
  { relayUrl, relayPeerUrl }: Pick<Config, 'relayUrl' | 'relayPeerUrl'>,
  running: readonly RunningProcess[],
): Promise<Check[]> {
  const name = 'relay';
  if (!running.some(({ part }) => part === 'all' || part === 'gateway' || part === 'relay'))
    return [{ name, ok: true, found: `${relayUrl}, once a gateway runs` }];
  const fix = 'lead SVC_RELAY_URL to a gateway or a relay, through the proxy where there is one';
  const answers = await answersAt(relayUrl.replace(/\/$/, ''), anyStatus, withoutKey);
  const checks: Check[] = [
    answers
      ? { name, ok: true, found: `${relayUrl} answers` }
      : { name, ok: false, found: `no relay at ${relayUrl}`, fix },
  ];
  if (relayPeerUrl === undefined) return checks;
  const found = `${relayPeerUrl} for other relays`;
  const isThere = await answersAt(relayPeerUrl.replace(/\/$/, ''), '/health', 200);
  const peerFix = 'set SVC_RELAY_PEER_URL to an address of this process that other relays reach';
  checks.push({ name: 'relay peers', ok: isThere, found, ...(!isThere && { fix: peerFix }) });
  return checks;
}

const answersAt = async (url: string, path: string, status: number): Promise<boolean> =>
  (await askGateway(url, path))?.status === status;

/** Whether this machine, as a host, opens terminals. */
export function terminals(): Check {
  const missing = ['script', 'stty'].filter((program) => !isOnPath(program));
  const found =
    missing.length === 0
      ? 'script and stty are there: as a host this machine opens them'
      : `as a host this machine opens none without ${missing.join(' and ')} (util-linux, coreutils)`;
  return { name: 'terminals', ok: true, found };
}

const isOnPath = (program: string): boolean =>
  (environmentValue('PATH') ?? '').split(':').some((folder) => existsSync(join(folder, program)));
