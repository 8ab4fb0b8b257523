import { join } from 'node:path';
import type { NodeParts } from './sandboxes/index.ts';
import { standIns } from './testing.parts.ts';

/** Makes the parts of a node. Until the real ones are here: stand-ins over an image and a runtime that are there. */
export async function openParts(options: {
  dir: string;
  /** Here a root file system, and beside it `runsc`. */
  images: string;
  log(message: string, details?: object): void;
}): Promise<NodeParts> {
  const parts = standIns(join(options.dir, 'workspaces'), options.images, join(options.images, '../runsc'));
  return { ...parts, log: (message, details) => options.log(message, details) };
}
