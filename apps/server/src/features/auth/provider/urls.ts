import type { Config } from '../../../config.ts';
import { alike } from '../../../kernel/base/spellings.ts';

/** The spelling of an address of ours that people should open: on this machine alone, the one at which passkeys work. */
export const forPeople = (url: string): string =>
  alike(url).find((each) => new URL(each).hostname === 'localhost') ?? url;

/** The path of `{auth_url}`, without a slash at its end. */
export const basePath = ({ authUrl }: Pick<Config, 'authUrl'>): string => new URL(authUrl).pathname.replace(/\/$/, '');

/** The resources that access tokens are for, in every spelling. */
const resourcesOf = ({ baseUrl }: Pick<Config, 'baseUrl'>): { api: string[]; mcp: string[] } => ({
  api: alike(baseUrl).flatMap((url) => [url, `${url}/`]),
  mcp: alike(baseUrl).map((url) => `${url}/mcp`),
});

/** Which of them an address is. */
export function resourceOf(config: Pick<Config, 'baseUrl'>, resource: string): 'api' | 'mcp' | undefined {
  const { api, mcp } = resourcesOf(config);
  if (api.includes(resource)) return 'api';
  return mcp.includes(resource) ? 'mcp' : undefined;
}
