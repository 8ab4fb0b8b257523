/** Rules of a site that are read, and stars of one: more are made to cost. */
const mostRules = 1_000;
const mostStars = 10;
const longestPattern = 2_000;

/** A rule of a robots.txt: parts of a path between stars. */
interface PathRule {
  readonly isAllowed: boolean;
  readonly parts: readonly string[];
  /** The path ends with the last part. */
  readonly isWhole: boolean;
  /** Of its pattern: the longest rule that fits decides. */
  readonly length: number;
}

/** The rules of a robots.txt for one crawler (RFC 9309). */
export interface RobotsRules {
  readonly rules: readonly PathRule[];
  /** Seconds between two requests, as it asks for; 0: nothing. */
  readonly delay: number;
}

/** Reads the group of a crawler, else that of all. In a worker: the text is a stranger's. */
export function robotsRules(text: string, agent: string): RobotsRules {
  const own = { rules: [] as PathRule[], delay: 0, isNamed: false };
  const all = { rules: [] as PathRule[], delay: 0, isNamed: false };
  let groups: (typeof own)[] = [];
  let isHead = false;
  for (const line of text.split(/\r\n?|\n/)) {
    const at = line.indexOf(':');
    if (at === -1) continue;
    const name = line.slice(0, at).trim().toLowerCase();
    const value =
      line
        .slice(at + 1)
        .split('#', 1)[0]
        ?.trim() ?? '';
    if (name === 'user-agent') {
      if (!isHead) groups = [];
      isHead = true;
      const token = /^[\w-]+/.exec(value)?.[0].toLowerCase();
      const group = value === '*' ? all : token === agent ? own : undefined;
      if (group) {
        group.isNamed = true;
        groups.push(group);
      }
      continue;
    }
    if (name !== 'allow' && name !== 'disallow' && name !== 'crawl-delay') continue;
    isHead = false;
    for (const group of groups) {
      if (name === 'crawl-delay') group.delay = Math.max(group.delay, Number(value) || 0);
      else if (value !== '' && group.rules.length < mostRules) group.rules.push(...ruleOf(name === 'allow', value));
    }
  }
  const { rules, delay } = own.isNamed ? own : all;
  return { rules, delay };
}

/** A pattern with more stars than are read forbids what its first ones fit, and allows nothing. */
function ruleOf(isAllowed: boolean, pattern: string): PathRule[] {
  const isWhole = pattern.endsWith('$');
  const parts = spelled(pattern.slice(0, longestPattern).replace(/\$$/, '').replace(/\*+/g, '*')).split('*');
  const isCut = parts.length > mostStars + 1 || pattern.length > longestPattern;
  if (isCut && isAllowed) return [];
  return [{ isAllowed, parts: parts.slice(0, mostStars + 1), isWhole: isWhole && !isCut, length: pattern.length }];
}

/** Whether a crawler may fetch an address. */
export function mayFetch({ rules }: RobotsRules, url: URL): boolean {
  const path = spelled(url.pathname + url.search);
  let best: PathRule | undefined;
  for (const rule of rules) {
    const isBetter = !best || rule.length > best.length || (rule.length === best.length && rule.isAllowed);
    if (isBetter && fits(rule, path)) best = rule;
  }
  return best?.isAllowed ?? true;
}

/** Each part behind the one before, as early as it comes: no pattern makes this slow. */
function fits({ parts, isWhole }: PathRule, path: string): boolean {
  const [first = '', ...rest] = parts;
  if (!path.startsWith(first)) return false;
  let at = first.length;
  for (const [nth, part] of rest.entries()) {
    if (isWhole && nth === rest.length - 1) return path.length - part.length >= at && path.endsWith(part);
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return !isWhole || at === path.length;
}

/** A path in one spelling: what is no ASCII is escaped, and escapes are in upper case. */
const spelled = (path: string): string =>
  path
    .toWellFormed()
    .replace(/[^\x21-\x7e]/gu, (letter) => encodeURIComponent(letter))
    .replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase());
