import type { Config } from './config.ts';
import type { Check } from './doctor.check.ts';
import { countPasskeysElsewhere, relyingParty, takesSignIns } from './features/auth/index.ts';
import type { Sql } from './kernel/db/db.ts';

/** What keeps people from signing in: the address, mail, passkeys of another address, and a proxy that is not named. */
export async function signIn(
  config: Pick<Config, 'authUrl' | 'baseUrl' | 'mail' | 'tls' | 'trustedProxies'>,
  sql: Sql,
): Promise<Check[]> {
  const { id } = relyingParty(config);
  // Without the schema there are no passkeys either.
  const elsewhere = await countPasskeysElsewhere(sql, id).catch(() => 0);
  return [address(config), ...passkeys(elsewhere, id), ...proxy(config)];
}

function address(config: Pick<Config, 'authUrl' | 'mail'>): Check {
  const name = 'sign-in';
  const { authUrl, mail } = config;
  if (!takesSignIns(config)) {
    const fix = 'put https in front (Caddy, Tailscale) and set SVC_BASE_URL to that address';
    return { name, ok: false, found: `${authUrl} is plain http on a network: nobody can sign in`, fix };
  }
  const links = mail ? 'codes and links go by mail' : 'no mail is set: links come from ./svc accounts link';
  return { name, ok: true, found: `${authUrl}; ${links}` };
}

function passkeys(elsewhere: number, id: string): Check[] {
  if (elsewhere === 0) return [];
  const found = `${elsewhere} ${elsewhere === 1 ? 'was' : 'were'} made at another host than ${id}, and cannot be used there`;
  const fix = 'lead SVC_AUTH_URL back to that host, or have their people sign in by password or code and add new ones';
  return [{ name: 'passkeys', ok: false, found, fix }];
}

/** Where something else ends TLS, requests come from there. */
function proxy({ baseUrl, tls, trustedProxies }: Pick<Config, 'baseUrl' | 'tls' | 'trustedProxies'>): Check[] {
  const name = 'proxy';
  if (trustedProxies.length > 0) return [{ name, ok: true, found: `trusted: ${trustedProxies.join(', ')}` }];
  if (tls || !baseUrl.startsWith('https:')) return [];
  const found = 'a proxy ends TLS and is not named: all its visitors are one network to the limits';
  return [
    { name, ok: false, found, fix: 'set SVC_TRUSTED_PROXIES to the address it connects from, such as 127.0.0.1' },
  ];
}
