import type { Context } from '../../kernel/http/context.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { serveAs } from '../devices/index.ts';
import { wasAsked } from './sessions.controls.sql.ts';

/**
 * A key that may only serve acts as its own device, and as no other: throws 403. It sees and writes what that device was
 * asked for in a control, and no other session: throws 404.
 */
export async function checkServing(
  { db, actor }: Pick<Context, 'db' | 'actor'>,
  deviceId: string,
  sessionId?: string,
): Promise<void> {
  if (hasScope(actor.scopes, ['sessions'])) return;
  await serveAs(db, { actor, deviceId });
  if (sessionId === undefined) return;
  if (!(await wasAsked(db, { accountId: actor.accountId, deviceId, sessionId }))) throw notFound('session');
}
