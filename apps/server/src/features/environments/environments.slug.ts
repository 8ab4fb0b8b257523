import { randomInt } from 'node:crypto';

/** Names by which people know a part of the installation, or the machine before them. */
const reserved = new Set(
  'admin api auth backup broadcasthost database gateway host hub local localdomain localhost mail operator postgres preview relay root server support svc www'.split(
    ' ',
  ),
);

/** Whether nobody may take a slug: it stands for the installation, or would be read as the id of an environment. */
export const isReserved = (slug: string): boolean =>
  reserved.has(slug) || /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(slug);

/** Letters and digits that are not taken for each other. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
const longest = 40;
const added = 4;

/** A project's slug and four random characters, so that few ever meet. */
export function freshSlug(projectSlug: string): string {
  const end = Array.from({ length: added }, () => letters[randomInt(letters.length)]).join('');
  return `${projectSlug.slice(0, longest - added - 1).replace(/-+$/, '')}-${end}`;
}
