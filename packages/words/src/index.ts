/** The texts that the server says to people, in English and Romanian. Pure. */
import { en, type Words } from './en.ts';
import type { Locale } from './locale.ts';
import { ro } from './ro.ts';

export type { Mail } from './en.mails.ts';
export type { Words } from './en.ts';
export { type Locale, localeOf, locales } from './locale.ts';
export { counted, lasting } from './plural.ts';
export { grantsNothing, type ScopeGroup, scopeGroups, scopeWords } from './scopes.ts';

const catalogue: Readonly<Record<Locale, Words>> = { en, ro };

/** Every text of a language. */
export const wordsOf = (locale: Locale): Words => catalogue[locale];
