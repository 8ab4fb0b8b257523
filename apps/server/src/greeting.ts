import { rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { renderUnicodeCompact } from 'uqr';
import type { Config } from './config.ts';

/** How the owner learns of a secret: its text on a terminal, else the file that holds it. */
type Kept = { text: string } | { file: string };

/** The file of each secret of the first start. */
const files = { key: 'owner.key', link: 'setup.link' } as const;

/**
 * Keeps the owner's key, or the link that sets up their sign-in, where the owner alone finds it. What is no terminal is a journal or a container's log, which
 * others read and which is kept: there it goes to a file (0600).
 */
export function keepForOwner(
  dataDir: string,
  kind: keyof typeof files,
  text: string | undefined,
  isTerminal = process.stdout.isTTY,
): Kept | undefined {
  if (text === undefined || isTerminal) return text === undefined ? undefined : { text };
  const file = join(dataDir, files[kind]);
  // One of an earlier installation may be there, with another mode.
  rmSync(file, { force: true });
  writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return { file };
}

/** Where a gateway answers, and what its links say. */
interface Reached {
  /** An address that works on this machine. */
  here: string;
  /** Addresses that other machines may reach it at. */
  elsewhere: string[];
  /** The address in links and `{base_url}`, when it leads other machines nowhere. */
  misleading: string | undefined;
}

const isLoopback = (host: string): boolean => /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);

/** Finds the addresses of a listener on `host`; a wildcard listens on all that the machine has. */
export function addressesOf(
  { host, baseUrl, baseUrlIsSet, tls }: Pick<Config, 'host' | 'baseUrl' | 'baseUrlIsSet' | 'tls'>,
  port: number,
  interfaces = networkInterfaces(),
): Reached {
  const urlOf = (address: string): string =>
    `${tls ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`;
  if (baseUrlIsSet || isLoopback(host)) return { here: baseUrl, elsewhere: [], misleading: undefined };
  const isAny = host === '0.0.0.0' || host === '::';
  const families = host === '0.0.0.0' ? ['IPv4'] : ['IPv4', 'IPv6'];
  const all = Object.values(interfaces)
    .flatMap((each) => each ?? [])
    .filter(({ internal, family, address }) => !internal && families.includes(family) && !/^fe80:/i.test(address));
  const elsewhere = isAny ? all.map(({ address }) => urlOf(address)) : [urlOf(host)];
  // On one address alone nothing answers on the loopback.
  return { here: isAny ? baseUrl : urlOf(host), elsewhere, misleading: baseUrl };
}

/** Who the platform belongs to. */
interface Owner {
  email: string;
  /** Whether an alert gets to them outside of this platform. */
  isReached: boolean;
}

/** Printed once it answers; the key, or where it is, and whose it is, on the first start only. */
export function greeting(
  { here, elsewhere, misleading }: Reached,
  key: Kept | undefined,
  owner: Owner | undefined,
  link?: Kept,
): string {
  const lines = [`svc is ready at ${here}`, `  reference: ${here}/docs`];
  if (misleading !== undefined) {
    const others = elsewhere.length > 0 ? elsewhere.join('  ') : 'none found';
    lines.push(
      `  from other machines: ${others}`,
      `  links in answers say ${misleading}, which leads other machines nowhere: set SVC_BASE_URL to the address they use`,
    );
  }
  if (owner?.isReached === false) {
    lines.push(
      `  alerts of ${owner.email} reach nobody, by mail, webhook or push: add a webhook with POST ${here}/v1/notifications/webhooks`,
    );
  }
  if (key !== undefined) {
    const [said, shown, header] =
      'text' in key
        ? ['Your API key, shown once:', key.text, `'Authorization: Bearer ${key.text}'`]
        : ['Your API key is in:', key.file, `"Authorization: Bearer $(cat ${quoted(key.file)})"`];
    const whose = owner === undefined ? [] : [`It belongs to ${owner.email}.`];
    lines.push('', said, `  ${shown}`, ...whose, '', 'Try it:', `  curl -H ${header} ${here}/v1/keys`);
  }
  if (link !== undefined) lines.push('', ...linkLines(link));
  return `${lines.join('\n')}\n`;
}

/** The link of the first start; as a code for a phone too, unless it leads to this machine alone. */
function linkLines(link: Kept): string[] {
  if ('file' in link)
    return ['To sign in from a browser, open the link in this file, once, within 24 hours:', `  ${link.file}`];
  const lines = ['To sign in from a browser, open this link, once, within 24 hours:', `  ${link.text}`];
  if (isLoopback(new URL(link.text).hostname)) return lines;
  return [...lines, '', renderUnicodeCompact(link.text)];
}

/** The same for a process that serves no API: where it listens, and where its probes are. */
export function partGreeting(
  part: string,
  {
    base_url: url,
    probe_host: host,
    probe_port: port,
  }: { base_url?: string; probe_host?: string; probe_port?: number },
): string {
  const where = port === undefined ? 'without health and metrics' : `health and metrics at ${host}:${port}`;
  return `svc ${part} runs${url === undefined ? '' : ` at ${url}`}, ${where}\n`;
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
