const longest = 40;
const shortest = 3;

/** A name as it stands in addresses: "Čez Hub 2!" is "cez-hub-2". Three characters at least: "Q" is "project-q". */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replaceAll(/^-|-$/g, '');
  return plain.length >= shortest ? plain : `project${plain === '' ? '' : '-'}${plain}`;
}
