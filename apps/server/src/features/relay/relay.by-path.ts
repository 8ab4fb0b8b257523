import type { RawRoute } from '../../kernel/feature.ts';
import type { Forwarder } from '../../kernel/forwarder/forwarder.ts';
import type { PublishedPorts } from './relay.published.ts';

/** `{relay_url}/p/<environment>/<port>/…`: published ports for clients that are no browser. */
export const publishedByPath = (forwarder: Forwarder, owner: PublishedPorts): RawRoute => ({
  prefix: '/p/',
  at: 'relay',
  async open({ request, response }) {
    const [, label = '', rest = ''] = /^\/((?:[^?]*?\/)?p\/[^/?]+\/[^/?]+)(.*)$/s.exec(request.url ?? '') ?? [];
    const path = rest.startsWith('/') ? rest : `/${rest}`;
    await forwarder.serve(owner, { label, path, by: 'path' }, request, response);
  },
});
