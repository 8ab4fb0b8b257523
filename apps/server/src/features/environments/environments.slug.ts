import { randomInt } from 'node:crypto';

/** Letters and digits that are not taken for each other. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
const longest = 40;
const added = 4;

/** A project's slug and four random characters, so that few ever meet. */
export function freshSlug(projectSlug: string): string {
  const end = Array.from({ length: added }, () => letters[randomInt(letters.length)]).join('');
  return `${projectSlug.slice(0, longest - added - 1).replace(/-+$/, '')}-${end}`;
}
