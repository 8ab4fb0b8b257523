import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { createOutput } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { table } from '../table.ts';

/** `svc host list`: the hosts that are present now, as a table or as JSON. */
export async function list(options: CommonOptions): Promise<void> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  const client = clientOf(config, { retries: 0 });
  const { hosts } = await client.hosts.list().catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  if (options.json) return output.json({ hosts });
  if (hosts.length === 0) return output.log('no host is present');
  const rows = hosts.map((host) => [
    host.name,
    host.device_id,
    `${host.platform}/${host.os}`,
    host.hostname,
    host.roots.join(','),
    new Date(host.since).toISOString(),
  ]);
  for (const line of table([['NAME', 'DEVICE', 'PLATFORM/OS', 'HOSTNAME', 'ROOTS', 'SINCE'], ...rows])) {
    output.line(line);
  }
}
