import type { Config } from '../../../config.ts';

const loopback = new Set(['127.0.0.1', 'localhost']);

/** Whether an address leads to this machine alone. */
export const isLoopback = (url: string): boolean => {
  const { hostname } = new URL(url);
  return loopback.has(hostname) || hostname === '[::1]';
};

/**
 * The spellings of an address of ours: on this machine alone, `localhost` and `127.0.0.1` are one place, and passkeys work on
 * the first only. The one of the setting comes first.
 */
export function alike(url: string): string[] {
  const { hostname } = new URL(url);
  if (!loopback.has(hostname)) return [url];
  return [url, url.replace(hostname, hostname === 'localhost' ? '127.0.0.1' : 'localhost')];
}

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
