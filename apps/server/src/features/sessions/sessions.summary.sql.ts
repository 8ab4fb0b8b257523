import { namedStatement } from '../../kernel/db/named.ts';

/** Sessions by a part of their title. */
export const findTitled = namedStatement('sessions.sessions', 'title', { condition: 'title is not null' });
