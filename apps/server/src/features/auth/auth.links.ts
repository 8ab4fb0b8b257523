import type { Config } from '../../config.ts';
import { bySystem, type Who } from '../../kernel/records/audit.ts';
import { createLink, type PlainPurpose } from './people/links.ts';
import type { PeopleParts } from './people/parts.ts';
import { forPeople } from './provider/urls.ts';

/** The address of a one-time link; its token stands behind `#`, which browsers keep for themselves. */
export function linkUrl({ authUrl }: Pick<Config, 'authUrl'>, path: 'setup' | 'link' | 'phone', token: string): string {
  return `${forPeople(authUrl)}/${path}#${token}`;
}

type Parts = Pick<PeopleParts, 'sql' | 'clock' | 'config'>;

/** The link of the first start, with which the owner sets up how they sign in; once, within 24 hours. */
export const createSetupLink = (parts: Parts, accountId: string): Promise<string> =>
  urlOfNew(parts, { purpose: 'setup', accountId, by: bySystem });

/** Another one, of any account: to set up how its person signs in, or to get back in. */
export const createAccountLink = (
  parts: Parts,
  { accountId, purpose, by }: { accountId: string; purpose: PlainPurpose; by: Who },
): Promise<string> => urlOfNew(parts, { purpose, accountId, byHand: true, by });

async function urlOfNew(parts: Parts, link: Parameters<typeof createLink>[1]): Promise<string> {
  const { token } = await createLink(parts, link);
  return linkUrl(parts.config, link.purpose === 'setup' ? 'setup' : 'link', token);
}
