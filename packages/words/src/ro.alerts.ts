import type { enAlerts } from './en.alerts.ts';

/** Romanian texts of notifications. */
export const roAlerts: typeof enAlerts = {
  monitors: {
    down: (name) => `${name} nu mai funcționează`,
    up: (name) => `${name} funcționează din nou`,
    reasons: {
      failed: () => 'Lucrarea a eșuat.',
      exit: (code) => `Lucrarea s-a încheiat cu codul de ieșire ${code}.`,
      unfinished: (grace) => `A pornit și nu s-a terminat în ${grace}.`,
      overdue: (grace, period) => `Niciun succes în ${period} și încă ${grace} de răgaz.`,
      missed: (grace, at) => `Niciun succes până la ${at} și în ${grace} de răgaz.`,
      silenced: () => 'A fost redus la tăcere și tot nu funcționează.',
      succeeded: () => 'Lucrarea a reușit.',
    },
  },
  runs: {
    approval: (name) => `${name} așteaptă aprobarea`,
    approvalText: 'Aprobă sau sari peste această rulare; după 24 de ore se sare peste ea de la sine.',
    late: (name) => `${name} nu a fost pornită`,
    failed: (name) => `${name} a eșuat`,
    timedOut: (name) => `${name} a depășit timpul`,
    failedText: 'Rularea a eșuat.',
    succeeded: (name) => `${name} a reușit`,
    changed: (name) => `${name}: ieșirea s-a schimbat`,
    recovered: (name) => `${name} reușește din nou`,
    off: (name) => `${name} a fost oprită`,
    offText: (failures) => `Rulări eșuate la rând: ${failures}. Îndreaptă cauza, apoi pornește din nou programarea.`,
  },
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
