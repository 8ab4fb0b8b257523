import { statSync } from 'node:fs';
import { type ImageStatus, NodeClient, type NodeStatus, type Template } from '@svc/sandboxd-api';
import type { Config } from './config.ts';
import type { Check } from './doctor.check.ts';
import { findDataDir } from './postgres/datadir.ts';
import type { RunningProcess } from './running.ts';
import { sandboxdPlaces } from './sandboxd.ts';

/** Asks the node agent beside the gateway what it can run, and how far its images are. */
export async function sandboxes(config: Config, running: readonly RunningProcess[]): Promise<Check[]> {
  const named = running.find(({ sandboxd_socket }) => sandboxd_socket !== undefined)?.sandboxd_socket;
  const sandboxdSocket = config.sandboxdSocket ?? named;
  const { dir, socket } = sandboxdPlaces({ ...config, sandboxdSocket }, findDataDir(config));
  const node = new NodeClient(socket);
  // A node that others run is mended where it runs; one of root's is root's, whoever asks.
  const isOwn = sandboxdSocket === undefined && statSync(dir, { throwIfNoEntry: false })?.uid !== 0;
  try {
    const status = await node.node();
    return isOwn ? checksOfUser(status, config.sandboxes) : checksOf(status);
  } catch {
    return [{ name: 'sandboxes', ok: false, found: 'no node agent answers', fix: startCommand(config) }];
  } finally {
    node.close();
  }
}

function startCommand({ sandboxdSocket }: Config): string {
  if (process.platform !== 'linux') return 'sandboxes need Linux; run the platform there, or go on without them';
  if (sandboxdSocket === undefined) {
    return 'start the platform with ./svc up, or the node agent alone with ./svc up --only sandboxd';
  }
  return `start the node agent at ${sandboxdSocket} with ./svc up --only sandboxd, or leave SVC_SANDBOXD_SOCKET out`;
}

function checksOf({ backends, images }: NodeStatus): Check[] {
  const runs = Object.entries(backends).map(([name, { available, reason }]): Check => {
    const found = available ? 'runs' : 'does not run here';
    return { name: `sandboxes ${name}`, ok: available, found, ...(reason !== undefined && { fix: reason }) };
  });
  const failed = images.find(({ state }) => state === 'failed');
  const fix = failed && `${failed.step}; then ./svc images build ${failed.template}`;
  return [...runs, { name: 'images', ok: !failed, found: shownOf(images), ...(fix !== undefined && { fix }) }];
}

/** What the sandboxes of an ordinary user lack: where v1 runs, v2 is no fault, and each step is one that this user can do. */
export function checksOfUser(
  { backends, images }: Pick<NodeStatus, 'backends' | 'images'>,
  source: Pick<Config['sandboxes'], 'imagesUrl' | 'imagesKey'>,
): Check[] {
  const some = Object.values(backends).some(({ available }) => available);
  const runs = Object.entries(backends).map(([backend, { available, reason = 'for no known reason' }]): Check => {
    const name = `sandboxes ${backend}`;
    if (available) return { name, ok: true, found: 'runs' };
    if (some) return { name, ok: true, found: `does not run here: ${reason}` };
    return { name, ok: false, found: 'does not run here', fix: `nothing that this user can do: ${reason}` };
  });
  const isThere = images.some(({ state }) => state === 'ready' || state === 'building');
  const wanted = images.find(({ state }) => state === 'failed') ?? (isThere ? undefined : images[0]);
  const found = shownOf(images);
  if (!some || wanted === undefined) return [...runs, { name: 'images', ok: true, found }];
  return [...runs, { name: 'images', ok: false, found, fix: fetchCommand(wanted.template, source) }];
}

const shownOf = (images: readonly ImageStatus[]): string =>
  images
    .map(({ template, state, progress }) =>
      state === 'building' ? `${template} ${Math.floor(progress * 100)} %` : `${template} ${state}`,
    )
    .join(', ');

function fetchCommand(
  template: Template,
  { imagesUrl, imagesKey }: Pick<Config['sandboxes'], 'imagesUrl' | 'imagesKey'>,
): string {
  const words = [
    './svc images fetch',
    ...(imagesUrl === undefined ? ['<address>'] : []),
    ...(imagesKey === undefined ? ['--key <public key>'] : []),
    ...(template === 'svc-base' ? [] : [`--template ${template}`]),
  ];
  return words.join(' ');
}
