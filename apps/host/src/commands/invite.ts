import type { Client } from '@svc/sdk';
import { type CommonOptions, loadConfig } from '../config.ts';
import { CommandError } from '../failure.ts';
import { clientOf } from '../gateway.ts';
import { createOutput } from '../output.ts';
import { describeWithTrace } from '../report.ts';
import { findEnvironment } from './env/gateway.ts';

/** Options of `svc host invite`. */
export interface InviteOptions extends CommonOptions {
  name?: string;
  device?: string;
  allowShell?: boolean;
  /** Slug or id of one that the machine is enrolled in. */
  environment?: string;
}

/** `svc host invite`: prints the line that makes another machine, which has only Node.js, a host. */
export async function invite(options: InviteOptions): Promise<void> {
  const config = loadConfig(options);
  const output = createOutput(config.key);
  for (const warning of config.warnings) output.log(warning);
  const client = clientOf(config, { retries: 0 });
  const { name, device, environment } = options;
  // Before the code: it may not be theirs to enrol.
  const enrolling = environment === undefined ? '' : ` --environment ${await tokenFor(client, environment)}`;
  const body = { ...(name !== undefined && { name }), ...(device !== undefined && { device_id: device }) };
  const made = await client.hosts.invite({ body }).catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  const line = installLine(config.url, made) + enrolling + (options.allowShell ? ' --allow-shell' : '');
  if (options.json) output.json({ ...made, line });
  else output.line(line);
  output.log(
    `run this line on the other machine before ${made.expires_at}; it works once, and needs Node.js 20 or later`,
  );
  if (!options.allowShell) {
    output.log(
      'commands of your other devices will need a y there, or are refused; with --allow-shell the line allows them',
    );
  }
  if (/^https?:\/\/(?:localhost|127\.|\[::1\])/.test(config.url)) {
    output.log(`${config.url} is this machine alone: with --url, give the address at which the other one reaches it`);
  }
}

/** A token with which one machine enrols in an environment. */
async function tokenFor(client: Client, target: string): Promise<string> {
  const { id } = await findEnvironment(client, target);
  const made = await client.environments.enrollToken({ params: { id } }).catch((error) => {
    throw new CommandError(describeWithTrace(error));
  });
  return made.token;
}

/** Fetches the program, compares it with what the gateway promised over a connection that knew the key, and starts it. */
function installLine(url: string, { code, path, sha256 }: { code: string; path: string; sha256: string }): string {
  const fetching = [
    `const b=Buffer.from(await(await fetch('${url}${path}')).arrayBuffer())`,
    `if((await import('node:crypto')).createHash('sha256').update(b).digest('hex')!=='${sha256}')throw Error('not the program that was promised')`,
    `(await import('node:fs')).writeFileSync('svc-host.mjs',b)`,
  ].join(';');
  return `node --input-type=module -e "${fetching}" && node svc-host.mjs install --url ${url} --code ${code}`;
}
