import { keepHere, keptHere, tellSignIn } from '../api/device.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { en, type Words } from './en.ts';

export type { Words } from './en.ts';
export type Locale = 'en' | 'ro';

const Context = createContext<{ words: Words; locale: Locale; tz: string | undefined }>({
  words: en,
  locale: 'en',
  tz: undefined,
});
/** Gives the language and the time zone to all that stands inside. */
export const WordsProvider = Context.Provider;

/** The time zone in which a person means times: the account's, else the browser's. */
export const useZone = (): string => useContext(Context).tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
/** The texts in the person's language. */
export const useWords = (): Words => useContext(Context).words;
/** Language, and the account's time zone where it has one. */
export const useLocale = (): { locale: Locale; tz: string | undefined } => useContext(Context);

/** Texts of a language; the second one is loaded when it is needed. */
export async function loadWords(locale: Locale): Promise<Words> {
  return locale === 'ro' ? (await import('./ro.ts')).ro : en;
}

const localeName = 'svc-locale';
/** The language before the account is known: the last one here, else the browser's. */
export function firstLocale(): Locale {
  const kept = keptHere(localeName);
  if (kept === 'en' || kept === 'ro') return kept;
  return navigator.languages.some((name) => name.toLowerCase().startsWith('ro')) ? 'ro' : 'en';
}
/** Remembers the language on this device, for the sign-in pages too; undefined: it is the browser's. */
export function keepLocale(locale: Locale | undefined): void {
  keepHere(localeName, locale ?? '');
  tellSignIn('svc_locale', locale ?? '');
}
