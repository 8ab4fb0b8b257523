import { scopesOfApps } from '@svc/contract';
import { ApiError } from '../../../kernel/base/errors.ts';
import { mcpScopes } from '../provider/clients.ts';
import { alike } from '../../../kernel/base/spellings.ts';
import type { PageVisit } from './visit.ts';

const path = '.well-known/oauth-protected-resource';

/** Whether a path, without a slash at its beginning, is metadata of a resource. */
export const isResource = (rest: string): boolean => rest === path || rest === `${path}/mcp`;

/** What an access token for the API, or for the Model Context Protocol, is asked for with (RFC 9728). */
export function resource(visit: PageVisit): void {
  const { config } = visit.kernel;
  visit.response.setHeader('access-control-allow-origin', '*');
  if (visit.method === 'OPTIONS') {
    visit.response.setHeader('access-control-allow-methods', 'GET');
    visit.response.setHeader('access-control-allow-headers', '*');
    return void visit.response.writeHead(204).end();
  }
  if (visit.method !== 'GET' && visit.method !== 'HEAD') throw new ApiError('not_found', 'ask with GET');
  const { host } = visit.request.headers;
  const base = alike(config.baseUrl).find((url) => new URL(url).host === host) ?? config.baseUrl;
  const isMcp = visit.path.endsWith('/mcp');
  visit.response.setHeader('cache-control', 'public, max-age=300');
  visit.json(200, {
    resource: isMcp ? `${base}/mcp` : base,
    authorization_servers: [config.authUrl],
    scopes_supported: isMcp ? mcpScopes : scopesOfApps('unknown'),
    bearer_methods_supported: ['header'],
    resource_name: isMcp ? 'svc tools' : 'svc',
    resource_documentation: `${base}/docs`,
  });
}
