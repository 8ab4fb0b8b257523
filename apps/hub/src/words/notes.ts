import type { NoteWords } from '../push.note.rules.ts';

const en: NoteWords = {
  title: 'Something happened',
  actions: {
    approve: 'Approve',
    skip: 'Skip',
    rerun: 'Run again',
    pause: 'Pause',
    resume: 'Resume',
    archive: 'Archive',
  },
  done: 'Done',
  decided: 'It was decided already, or is over',
  refused: 'Not done: open the hub to see why',
  stored: 'Stored, not sent: there is no network',
};
const ro: NoteWords = {
  title: 'S-a întâmplat ceva',
  actions: {
    approve: 'Aprobă',
    skip: 'Sari peste',
    rerun: 'Rulează din nou',
    pause: 'Oprește',
    resume: 'Reia',
    archive: 'Arhivează',
  },
  done: 'S-a făcut',
  decided: 'S-a decis deja sau s-a încheiat',
  refused: 'Nu s-a făcut: deschide pagina ca să vezi de ce',
  stored: 'Păstrat, netrimis: nu este rețea',
};

/** Texts of notifications in a language; the worker has no page that would know the account's. */
export const wordsOfNotes = (language: string): NoteWords => (language.toLowerCase().startsWith('ro') ? ro : en);
