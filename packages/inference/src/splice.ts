const quote = 0x22;
const backslash = 0x5c;

interface Member {
  name: string;
  /** Of its value. */
  start: number;
  end: number;
}

/** The members of the object that the text is; undefined for other JSON. The text was parsed before, so it is sound. */
function membersOf(text: Buffer): { open: number; members: Member[] } | undefined {
  const open = text.findIndex((byte) => byte > 0x20);
  if (text[open] !== 0x7b) return undefined;
  const members: Member[] = [];
  let depth = 0;
  let name: string | undefined;
  let start = 0;
  let at = open;
  const endValue = (): void => {
    if (name === undefined) return;
    members.push({ name, start, end: at });
    name = undefined;
  };
  for (; at < text.length; at += 1) {
    const byte = text[at] as number;
    if (byte === quote) {
      const end = endOfString(text, at);
      if (depth === 1 && name === undefined) {
        const colon = text.indexOf(0x3a, end);
        name = JSON.parse(text.toString('utf8', at, end)) as string;
        start = colon + 1;
        at = colon;
      } else at = end - 1;
    } else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 1) endValue();
      depth -= 1;
      if (depth === 0) break;
    } else if (byte === 0x2c && depth === 1) endValue();
  }
  return { open, members };
}

/** Past its closing quote. */
function endOfString(text: Buffer, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at + 1;
}

/**
 * Gives top-level members of a JSON object other values, and leaves every other byte as it is: a number that no
 * JavaScript number holds, an unknown field, the order. A member that is not there is added.
 */
export function spliceJson(text: Buffer, changes: Readonly<Record<string, unknown>>): Buffer {
  const found = membersOf(text);
  if (!found) return text;
  const parts: Buffer[] = [];
  const missing = new Set(Object.keys(changes).filter((name) => changes[name] !== undefined));
  let from = 0;
  for (const { name, start, end } of found.members) {
    if (!Object.hasOwn(changes, name)) continue;
    parts.push(text.subarray(from, start), Buffer.from(JSON.stringify(changes[name] ?? null)));
    from = end;
    missing.delete(name);
  }
  const rest = text.subarray(from);
  if (missing.size === 0) return Buffer.concat([...parts, rest]);
  const whole = Buffer.concat([...parts, rest]);
  const added = [...missing].map((name) => `${JSON.stringify(name)}:${JSON.stringify(changes[name])}`).join(',');
  const comma = found.members.length > 0 ? ',' : '';
  return Buffer.concat([whole.subarray(0, found.open + 1), Buffer.from(added + comma), whole.subarray(found.open + 1)]);
}

/** Members of a request that a provider knows by another name, or not at all. */
export interface Reshaping {
  rename: Readonly<Record<string, string>>;
  drop: readonly string[];
}

/**
 * Leaves top-level members out and gives others new names; every value stays as it is. A member whose new name is there
 * already is left out too. Answers the text and the names of what was left out.
 */
export function reshapeJson(text: Buffer, { rename, drop }: Reshaping): { text: Buffer; dropped: string[] } {
  const members = membersOf(text)?.members ?? [];
  const isTouched = ({ name }: Member): boolean => Object.hasOwn(rename, name) || drop.includes(name);
  if (!members.some(isTouched)) return { text, dropped: [] };
  const names = new Set(members.map(({ name }) => name));
  const dropped = members.map(({ name }) => name).filter((name) => drop.includes(name));
  const parts: Buffer[] = [];
  for (const { name, start, end } of members) {
    const renamed = Object.hasOwn(rename, name) ? rename[name] : undefined;
    if (drop.includes(name) || (renamed !== undefined && names.has(renamed))) continue;
    if (renamed !== undefined) names.add(renamed);
    parts.push(Buffer.from(`${JSON.stringify(renamed ?? name)}:`), text.subarray(start, end), Buffer.from(','));
  }
  return { text: Buffer.concat([Buffer.from('{'), ...parts.slice(0, -1), Buffer.from('}')]), dropped };
}

/** A name that two members of a JSON object have; undefined when none is there twice. */
export function duplicateName(text: Buffer): string | undefined {
  const names = membersOf(text)?.members.map(({ name }) => name) ?? [];
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}
