import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { NodeClient } from '@svc/sandboxd-api';
import type { Kernel } from '../../../kernel/kernel.ts';
import { sandboxdPlaces } from '../../../sandboxd.ts';

const schemePrefix = 'unix:';

/** The path in an address, as `sandboxes.nodes` has them. */
export const socketOf = (address: string): string => address.slice(schemePrefix.length);

/** The client of the node at an address. */
export const openNode = (address: string): NodeClient => new NodeClient(socketOf(address));

type Place = Pick<Kernel, 'config' | 'dataDir'>;

/** The address of the node beside this process, whether or not there is one. */
export const addressBeside = ({ config, dataDir }: Place): string =>
  `${schemePrefix}${sandboxdPlaces(config, dataDir).socket}`;

/** Whether a node beside this process is there or to come: its directory is made before it starts. */
export const mayHaveNode = (place: Place): boolean => existsSync(dirname(socketOf(addressBeside(place))));

/** The id of the node that answers beside this process; undefined: none does. */
export async function findNodeId(place: Place): Promise<string | undefined> {
  const client = openNode(addressBeside(place));
  try {
    return (await client.node()).id;
  } catch {
    return undefined;
  } finally {
    client.close();
  }
}
