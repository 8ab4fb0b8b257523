import { api } from '../../api/client.ts';
import type { Tone } from '../../ui/Status.tsx';

/** A monitor of the API. */
export type MonitorRecord = Awaited<ReturnType<typeof api.heartbeats.list>>['heartbeats'][number];

/** How a status looks. */
export const statusTone: Record<MonitorRecord['status'], Tone> = {
  up: 'good',
  late: 'warn',
  down: 'bad',
  paused: 'rest',
  new: 'warn',
};

/** Ready lines by which a job reports, for an address. */
export const pingLines = (url: string): Record<'curl' | 'cron' | 'systemd' | 'github' | 'powershell', string> => ({
  curl: `curl -fsS -m 10 --retry 5 -o /dev/null ${url}`,
  cron: `0 3 * * * /path/to/job && curl -fsS -m 10 --retry 5 -o /dev/null ${url}`,
  systemd: `[Service]\nExecStart=/path/to/job\nExecStopPost=/bin/sh -c 'curl -fsS -m 10 --retry 5 -o /dev/null ${url}/$EXIT_STATUS'`,
  github: `- if: always()\n  run: curl -fsS -m 10 --retry 5 -o /dev/null ${url}/\${{ job.status == 'success' && '0' || 'fail' }}`,
  powershell: `Invoke-RestMethod -Uri ${url} -TimeoutSec 10`,
});
