import type { Feature } from '../../kernel/feature.ts';
import type { AuthServer } from '../auth/index.ts';
import { HubClient } from './hub.login.ts';
import { type HubParts, serveHub } from './hub.serve.ts';

/** Signing in to the hub, and its first page. */
export function hubFeature({ server, ...parts }: Omit<HubParts, 'client'> & { server: AuthServer }): Feature {
  const own = { ...parts, client: new HubClient(parts.kernel, server) };
  const base = new URL(parts.kernel.config.hubUrl).pathname.replace(/\/$/, '');
  const paths = /^(?:login\/start|callback|login|)$/;
  return {
    name: 'hub',
    operations: {},
    raw: [
      {
        prefix: `${base}/`,
        isPage: true,
        has: (rest) => paths.test(rest),
        open: (exchange) => serveHub(own, exchange),
      },
    ],
  };
}
