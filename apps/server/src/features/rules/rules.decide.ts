import { createHash } from 'node:crypto';

/** The tools that a rule may be for. */
export const ruledTools = ['search', 'fetch'] as const;
export type RuledTool = (typeof ruledTools)[number];

/** A rule, as far as it decides. */
export interface Rule {
  /** Null: the operator's. */
  readonly account_id: string | null;
  readonly effect: 'allow' | 'deny';
  /** A host and all below it, an IP address, or `*`. */
  readonly domain: string;
  /** Null: both. */
  readonly tool: RuledTool | null;
}

/** The judgement of the rules for an account. */
export interface Judgement {
  /** Whether a tool must leave an address alone. */
  refuses(tool: RuledTool, url: URL): boolean;
  /** Whether it must leave every address alone. */
  refusesAll(tool: RuledTool): boolean;
  /** The same for the same rules: a part of keys of what is kept. */
  readonly version: string;
}

/**
 * Reads the rules that hold for an account, the operator's and its own. A `deny` wins over each `allow`; where a level has
 * an `allow` for a tool, that tool reaches nothing else; both levels must let an address pass (design: tools, Fetch).
 */
export function judgementOf(rules: readonly Rule[]): Judgement {
  const levels = [rules.filter((rule) => rule.account_id === null), rules.filter((rule) => rule.account_id !== null)];
  const text = rules.map(({ account_id: owner, effect, domain, tool }) => `${owner} ${effect} ${domain} ${tool}`);
  return {
    refuses: (tool, url) => levels.some((level) => isRefusedBy(level, tool, url)),
    refusesAll: (tool) =>
      rules.some((rule) => rule.effect === 'deny' && rule.domain === '*' && (rule.tool === null || rule.tool === tool)),
    version: createHash('sha256').update(text.sort().join('\n')).digest('base64url').slice(0, 16),
  };
}

function isRefusedBy(level: readonly Rule[], tool: RuledTool, url: URL): boolean {
  const host = hostOf(url);
  const own = level.filter((rule) => rule.tool === null || rule.tool === tool);
  if (own.some(({ effect, domain }) => effect === 'deny' && covers(domain, host))) return true;
  const allowed = own.filter(({ effect }) => effect === 'allow');
  return allowed.length > 0 && !allowed.some(({ domain }) => covers(domain, host));
}

const covers = (domain: string, host: string): boolean =>
  domain === '*' || host === domain || host.endsWith(`.${domain}`);

/** Without brackets and without the dot of the root. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** A domain in the spelling of addresses: lower case, punycode; undefined when the text is no domain. */
export function domainOf(text: string): string | undefined {
  if (text === '*') return text;
  const bare = text
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  const address = bare.includes(':') && !bare.startsWith('[') ? `http://[${bare}]` : `http://${bare}`;
  if (bare === '' || /[\s/@?#*]/.test(bare) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.port === '' && url.hostname !== '' ? hostOf(url) : undefined;
}
