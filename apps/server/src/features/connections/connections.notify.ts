import type { Words } from '@svc/words';
import { randomUUID } from 'node:crypto';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { EndedChange } from '../../kernel/records/app-changes.ts';
import { deepLink, notifyMany } from '../notifications/index.ts';

const mostNamed = 10;

/** Tells somebody what an app that is disconnected had changed: what was undone, and what they look at themselves. */
export async function tellChanges(
  kernel: Kernel,
  tx: Db,
  accountId: string,
  changes: readonly EndedChange[],
): Promise<void> {
  if (changes.length === 0) return;
  await notifyMany(kernel, tx, [
    {
      accountId,
      type: 'connection.changes',
      says: ({ connections: words }) => ({
        title: words.title,
        body: [
          listed(
            words,
            words.undone,
            changes.filter(({ isUndone }) => isUndone),
          ),
          listed(
            words,
            words.left,
            changes.filter(({ isUndone }) => !isUndone),
          ),
        ]
          .filter((line) => line !== '')
          .join('\n'),
      }),
      severity: 'warning',
      url: deepLink(kernel.config, 'connections'),
      dedupeKey: `connection.changes:${randomUUID()}`,
    },
  ]);
}

function listed(
  words: Words['alerts']['connections'],
  lead: (list: string) => string,
  changes: readonly EndedChange[],
): string {
  if (changes.length === 0) return '';
  const named = changes.slice(0, mostNamed).map(({ kind, name }) => words.kinds[kind](name));
  const more = changes.length - named.length;
  return lead([...named, ...(more > 0 ? [words.more(String(more))] : [])].join('; '));
}
