import { names } from './language.names.ts';
import { fold } from './text.ts';

/** Words that are frequent in one language and in no other that is likely; without diacritics. */
const english = new Set(
  `about after all also and are because been but can could did does doing done every for from get getting going good got had
has have having he her here him his how if into is it its just know let like maybe much must my not of okay on only or our
out really right said say see she should so some than thanks that the their them then there these they thing think this
those through to too very want was we well were what when where which who why will with would yeah yes you your go may`.split(
    /\s+/,
  ),
);
const romanian = new Set(
  `aceasta acest aceste acolo acum adica ai aia aici am ar are asa asta atunci au avea avem aveti azi bine buna ca cand care
cat catre ce cel cele ceva chiar cine cu cum da daca dar deci deja despre din dintr doar dupa ea ei este eu eram era fac
face facem fara fi fie fiecare fost foarte iar imi inca insa intr intre isi iti la le lor lui ma mai mea merge mult multumesc
ne noi nostru noua nu o pe pentru poate pot putea sa sau se si sint sint sunt sus te toate tot toti totusi trebuie tu un
unde una unei unul unui va vad vom vor voi vreau zice`.split(/\s+/),
);
/** Shared with other languages: they count for nothing alone. */
const shared = new Set('a ar are da do in la le ne nu o on or pe se si so te to tu un una va ma am ce cu'.split(' '));
/** Letters that Romanian has and its neighbours have not together. */
const romanianLetters = /[ășțşţ]/giu;

/** Text that is looked at, in UTF-16 units. */
const mostUnits = 20_000;
/** Points from which a language is named, and share of words that must speak for it. */
const leastPoints = 2;
const leastShare = 0.15;

/** Whether a folded word is one of everyday English or Romanian speech. */
export const isStopWord = (folded: string): boolean => english.has(folded) || romanian.has(folded) || folded.length < 2;

/**
 * Whether a text is English or Romanian, by its frequent words and letters; null when neither is clear.
 * A frequent word that other languages have too counts half, a letter that is Romanian's own counts one.
 */
export function languageOf(text: string): 'en' | 'ro' | null {
  const looked = text.slice(0, mostUnits);
  const words = looked.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '');
  const points = { en: 0, ro: looked.match(romanianLetters)?.length ?? 0 };
  for (const word of words) {
    const folded = fold(word);
    const point = shared.has(folded) ? 0.5 : 1;
    if (english.has(folded)) points.en += point;
    if (romanian.has(folded)) points.ro += point;
  }
  const [winner, other] = points.ro > points.en ? (['ro', 'en'] as const) : (['en', 'ro'] as const);
  const isClear = points[winner] >= 1.5 * points[other] && points[winner] >= leastShare * words.length;
  return isClear && points[winner] >= leastPoints ? winner : null;
}

/**
 * Two letters for a language's English name or BCP 47 code in any case ("English", "ro-RO", "ron"); null for what is neither,
 * and for languages that have no code of two letters.
 */
export function languageCode(name: string): string | null {
  const asked = name.trim().toLowerCase().replaceAll('_', '-').slice(0, 100);
  const named = names.get(asked);
  if (named !== undefined) return named;
  try {
    const [code] = Intl.getCanonicalLocales(asked)[0]?.split('-') ?? [];
    return code?.length === 2 ? code : null;
  } catch {
    // Neither a name that is known nor a well-formed code.
    return null;
  }
}
