import type { enAlerts } from './en.alerts.ts';

/** Romanian texts of notifications. */
export const roAlerts: typeof enAlerts = {
  resolutions: {
    approved: 'S-a aprobat.',
    skipped: 'S-a sărit peste.',
    cancelled: 'S-a anulat.',
    expired: 'I-a trecut timpul.',
    started: 'A fost pornit.',
    done: 'Este gata.',
    recovered: 'Funcționează din nou.',
    resumed: 'A fost pornit din nou.',
    paused: 'A fost pus pe pauză.',
    postponed: 'A fost amânat.',
    accepted: 'Ai acceptat.',
    declined: 'Ai refuzat.',
    dismissed: 'S-a renunțat la el.',
    removed: 'Nu mai există.',
  },
};
