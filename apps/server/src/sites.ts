import type { Config } from './config.ts';
import { ConfigError } from './config.error.ts';

type Addresses = Pick<Config, 'previewDomain' | 'baseUrl' | 'hubUrl' | 'authUrl'>;

/**
 * The site (registrable domain, by the public suffix list) that previews share with the platform; undefined where they have one
 * of their own. A page there sets cookies for all of its site: enough of them, and no browser that saw it gets in any more.
 */
export async function sharedSite({ previewDomain, baseUrl, hubUrl, authUrl }: Addresses): Promise<string | undefined> {
  if (previewDomain === undefined) return undefined;
  // The list is 200 kB of code, and most installations have no such domain.
  const { getDomain } = await import('tldts');
  const siteOf = (host: string): string | null => getDomain(host, { allowPrivateDomains: true });
  const site = siteOf(previewDomain);
  return site !== null && [baseUrl, hubUrl, authUrl].some((url) => siteOf(new URL(url).hostname) === site)
    ? site
    : undefined;
}

/** What is wrong with such a site. */
export const sharedText = (site: string): string => `previews and the platform share the site ${site}`;
/** What to do about it. */
export const sharedFix =
  'take another registrable domain for SVC_PREVIEW_DOMAIN, with nothing else on it: a page may set cookies for all of its site, ' +
  'and so lock browsers out of the platform';

/** Throws `ConfigError` where previews share the platform's site. */
export async function checkSites(config: Addresses): Promise<void> {
  const site = await sharedSite(config);
  if (site !== undefined) throw new ConfigError(`SVC_PREVIEW_DOMAIN: ${sharedText(site)}; ${sharedFix}`);
}
