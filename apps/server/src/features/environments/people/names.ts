const longest = 32;

/** The name of a member's user on the machine, from its e-mail address; none of `taken`. */
export function linuxNameOf(email: string, taken: ReadonlySet<string>): string {
  const plain = email
    .split('@', 1)
    .join('')
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, longest);
  const base = plain === '' ? 'dev' : plain;
  for (let n = 1; ; n += 1) {
    const end = n === 1 ? '' : String(n);
    const name = base.slice(0, longest - end.length) + end;
    if (!taken.has(name) && !reserved.has(name)) return name;
  }
}

/** Users that a machine has for itself. */
const reserved = new Set(
  'root daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc nobody sshd admin'.split(' '),
);

/** The first place that nobody has. */
export function freePlace(taken: readonly number[]): number {
  const all = new Set(taken);
  let place = 0;
  while (all.has(place)) place += 1;
  return place;
}
