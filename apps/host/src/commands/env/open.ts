import { setTimeout as sleep } from 'node:timers/promises';
import { isSvcError, SvcError } from '@svc/sdk';
import { openInBrowser } from '../../browser.ts';
import { type CommonOptions, lookAtScreen } from '../../config.ts';
import { CommandError } from '../../failure.ts';
import { describeFailure } from '../../report.ts';
import { table } from '../../table.ts';
import { answered, type Environment, type EnvGateway, findEnvironment, openGateway } from './gateway.ts';
import { portOf } from './words.ts';

/** Options of `svc env open`. */
export interface OpenOptions extends CommonOptions {
  browser?: boolean;
}

const lookEveryMs = 1_000;
const patienceMs = 10 * 60_000;
/** States from which no machine comes by itself. */
const hopeless: Partial<Record<Environment['state'], string>> = {
  pending: 'no machine is enrolled in it yet: svc host enroll',
  archived: 'it was put aside: enrol a machine in it again',
  failed: 'its provider refused it',
  destroying: 'it is being destroyed',
  destroyed: 'it was destroyed',
};

/** `svc env open`: waits until commands run there; then the address of a port for a browser, or a table of ports. */
export async function open(target: string, portText: string | undefined, options: OpenOptions): Promise<void> {
  const port = portText === undefined ? undefined : portOf(portText);
  if (port === undefined && options.browser)
    throw new CommandError('a browser needs a port: svc env open … <port> --browser');
  const gateway = await openGateway(options);
  const environment = await findEnvironment(gateway.client, target);
  await waitUntilUsable(gateway, environment);
  if (port === undefined) return showPorts(gateway, environment, options.json === true);
  const params = { id: environment.id, port };
  const link = await answered(gateway.client.environments.linkPort({ params }), 1, `${environment.slug}:${port}`);
  if (options.browser && (await openInBrowser(link.url, lookAtScreen(true)).taken))
    return gateway.output.log('opened in the browser');
  if (options.json) gateway.output.json(link);
  else gateway.output.line(link.url);
  if (link.expires_at !== null) gateway.output.log('the address is good for one visit within 60 s');
}

/** Waits until a command runs on the machine, and starts one that stands still at its provider. */
async function waitUntilUsable({ client, output }: EnvGateway, { id, slug }: Environment): Promise<void> {
  const until = performance.now() + patienceMs;
  const params = { id };
  let told = '';
  let isStarted = false;
  const tell = (line: string): void => {
    if (line !== told) output.log(`${slug}: ${line}`);
    told = line;
  };
  for (;;) {
    const [seen, status] = await Promise.all([
      client.environments.get({ params }).catch(unlessPassing),
      client.relay.status({ params }).catch(unlessPassing),
    ]);
    if (status && !(status instanceof SvcError) && status.usable) return;
    if (seen instanceof SvcError) tell(describeFailure(seen));
    else {
      const { state, stateReason, provider } = seen.environment;
      const why = hopeless[state];
      if (why !== undefined) throw new CommandError(`${slug}: ${why}${stateReason ? ` (${stateReason})` : ''}`);
      if (state === 'stopped' && provider !== 'byo' && !isStarted) {
        tell('it stands still; starting it');
        // Another one may have started it meanwhile.
        await client.environments.start({ params }).catch((error: unknown) => {
          if (!isSvcError(error, 'invalid_transition')) throw new CommandError(`${slug}: ${describeFailure(error)}`);
        });
        isStarted = true;
      } else if (status instanceof SvcError) tell(describeFailure(status));
      else tell(`${state}; ${status.online ? 'its daemon is there, no command runs yet' : 'waiting for its daemon'}`);
    }
    if (performance.now() > until) throw new CommandError(`${slug}: no command runs there after 10 minutes`);
    await sleep(lookEveryMs);
  }
}

/** A failure after which another attempt is worth it; throws the others. */
function unlessPassing(error: unknown): SvcError {
  if (error instanceof SvcError && (error.status === 0 || error.status === 429 || error.status >= 500)) return error;
  throw new CommandError(describeFailure(error));
}

async function showPorts({ client, output }: EnvGateway, { id, slug }: Environment, json: boolean): Promise<void> {
  const { ports } = await answered(client.environments.listPorts({ params: { id } }), 1, slug);
  const shown = [];
  for (const port of ports) {
    // The address of any other port is a ticket, which is made when it is asked for by its number.
    const link =
      port.visibility === 'public'
        ? await client.environments.linkPort({ params: { id, port: port.port } }).catch(() => undefined)
        : undefined;
    shown.push({ ...port, url: link?.url ?? null });
  }
  if (json) return output.json({ ports: shown });
  if (shown.length === 0) return output.log(`${slug} is usable; no port of it is published`);
  const rows = shown.map(({ port, visibility, label, url }) => [
    String(port),
    visibility,
    label ?? '',
    url ?? `svc env open ${slug} ${port}`,
  ]);
  for (const line of table([['PORT', 'VISIBILITY', 'LABEL', 'ADDRESS'], ...rows])) output.line(line);
}
