import type { Feature } from '../../kernel/feature.ts';
import type { AuthServer } from '../auth/index.ts';
import { HubAssets } from './hub.assets.ts';
import { HubFiles } from './hub.build.ts';
import { HubClient } from './hub.login.ts';
import { HubPages } from './hub.pages.ts';
import { type HubParts, serveHub } from './hub.serve.ts';
import { pathOf } from './hub.shell.ts';

/** The hub: its pages, and signing in to them. */
export function hubFeature({
  server,
  ...parts
}: Pick<HubParts, 'kernel' | 'identity' | 'authenticateLogin'> & { server: AuthServer }): Feature {
  const { kernel } = parts;
  const files = new HubFiles(kernel);
  const own = {
    ...parts,
    client: new HubClient(kernel, server),
    assets: new HubAssets(files),
    pages: new HubPages(files, kernel.config),
  };
  return {
    name: 'hub',
    operations: {},
    raw: [{ prefix: `${pathOf(kernel.config)}/`, isPage: true, open: (exchange) => serveHub(own, exchange) }],
    start(_kernel, { serves }) {
      const leave = serves ? files.begin() : undefined;
      return Promise.resolve({ stop: () => Promise.resolve(leave?.()) });
    },
  };
}
