import { clockOf } from './text.ts';

/** The words of a document that are not the transcript's own. */
export interface Labels {
  /** Language of the labels, for `lang` and for dates. */
  language: 'en' | 'ro';
  locale: string;
  untitled: string;
  date: string;
  duration: string;
  speakers: string;
  consent: string;
  summary: string;
  keyPoints: string;
  actions: string;
  owner: string;
  due: string;
  decisions: string;
  openQuestions: string;
  transcript: string;
  nothingSaid: string;
  missingGlyphs: string;
  page: (at: number, of: number) => string;
  shared: string;
  expires: (date: string) => string;
  notFoundTitle: string;
  notFoundText: string;
}

const english: Labels = {
  language: 'en',
  locale: 'en-GB',
  untitled: 'Untitled recording',
  date: 'Date',
  duration: 'Duration',
  speakers: 'Speakers',
  consent: 'Consent',
  summary: 'Summary',
  keyPoints: 'Key points',
  actions: 'Actions',
  owner: 'owner',
  due: 'due',
  decisions: 'Decisions',
  openQuestions: 'Open questions',
  transcript: 'Transcript',
  nothingSaid: 'Nothing was said in this recording.',
  missingGlyphs: 'A box (□) stands for characters that the font of this PDF lacks. The other formats have them all.',
  page: (at, of) => `Page ${at} of ${of}`,
  shared: 'Shared transcript',
  expires: (date) => `This link works until ${date}.`,
  notFoundTitle: 'This transcript is not available',
  notFoundText: 'The link is wrong, has expired, or was withdrawn. Ask the person who sent it for a new one.',
};

const romanian: Labels = {
  language: 'ro',
  locale: 'ro-RO',
  untitled: 'Înregistrare fără titlu',
  date: 'Data',
  duration: 'Durata',
  speakers: 'Vorbitori',
  consent: 'Consimțământ',
  summary: 'Rezumat',
  keyPoints: 'Puncte cheie',
  actions: 'Acțiuni',
  owner: 'responsabil',
  due: 'termen',
  decisions: 'Decizii',
  openQuestions: 'Întrebări deschise',
  transcript: 'Transcriere',
  nothingSaid: 'Înregistrarea nu conține vorbire.',
  missingGlyphs:
    'Un pătrat (□) ține locul caracterelor care lipsesc din fontul acestui PDF. Celelalte formate le au pe toate.',
  page: (at, of) => `Pagina ${at} din ${of}`,
  shared: 'Transcriere partajată',
  expires: (date) => `Acest link este valabil până la ${date}.`,
  notFoundTitle: 'Această transcriere nu este disponibilă',
  notFoundText: 'Linkul este greșit, a expirat sau a fost retras. Cereți un link nou persoanei care vi l-a trimis.',
};

/**
 * Labels in Romanian for Romanian, else in English (document 1, Transcripts: export). `otherwise` is for what is in neither,
 * or in nobody knows what.
 */
export function labelsFor(language: string | null | undefined, otherwise?: string | null): Labels {
  const isOf = (languages: RegExp, tag = language): boolean => languages.test(tag ?? '');
  const isRomanian = isOf(romanianTag) || (!isOf(englishTag) && isOf(romanianTag, otherwise));
  return isRomanian ? romanian : english;
}
const romanianTag = /^(?:ro|ron|rum)(?:[-_]|$)/i;
const englishTag = /^(?:en|eng)(?:[-_]|$)/i;

/** The language as BCP 47 writes it; null for one that is unset or malformed. */
export function tagOf(language: string | null | undefined): string | null {
  try {
    return Intl.getCanonicalLocales((language ?? '').replaceAll('_', '-'))[0] ?? null;
  } catch {
    return null;
  }
}

const rightToLeft = new Set(['ar', 'arc', 'ckb', 'dv', 'fa', 'he', 'ks', 'ps', 'sd', 'syr', 'ug', 'ur', 'yi']);

/** The direction in which a language is written. */
export const directionOf = (tag: string | null): 'ltr' | 'rtl' =>
  rightToLeft.has(tag?.split('-')[0] ?? '') ? 'rtl' : 'ltr';

/** Day and time of an instant with the zone's name; an empty text for an invalid date. */
export function dayAndTime(at: Date, { locale }: Labels, timeZone = 'UTC'): string {
  if (Number.isNaN(at.getTime())) return '';
  const options: Intl.DateTimeFormatOptions = {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  };
  try {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone }).format(at);
  } catch {
    return new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(at);
  }
}

/** A length such as `1 h 2 min 3 s`, in either language. */
export function lengthOf(ms: number): string {
  const { hours, minutes, seconds } = clockOf(ms);
  const parts = [
    hours > 0 ? `${hours} h` : '',
    minutes > 0 ? `${minutes} min` : '',
    seconds > 0 || hours + minutes === 0 ? `${seconds} s` : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}
