import type { Manifest } from '../../kernel/feature.ts';
import { withdrawAllControls } from './sessions.controls.sql.ts';
import { sessionsQuota, sessionBytesQuota } from './sessions.sql.ts';
export { type SessionSaid, Sessions, workPlatforms } from './sessions.store.ts';
export type { ControlRow } from './sessions.controls.sql.ts';
export type { SessionListener } from './sessions.turns.ts';
export type { SessionTurn } from './sessions.turns.sql.ts';

/** The feature without a running platform. */
export const sessionsManifest: Manifest = {
  name: 'sessions',
  data: {
    tables: ['sessions.turns', 'sessions.controls', 'sessions.sessions'],
  },
  quotas: [sessionsQuota, sessionBytesQuota],
  restored: async ({ db, now }) => ({
    'controls that no device had taken, taken back': await withdrawAllControls(db, now.iso),
  }),
};
