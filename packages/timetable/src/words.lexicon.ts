/** Meaning of a word of either language. */
export type Token =
  | { is: 'number'; value: number }
  /** `isDigits`: `2nd`, which is never the unit that `second` is too. */
  | { is: 'ordinal'; value: number; isDigits?: true }
  | { is: 'time'; hour: number; minute: number; half?: 'am' | 'pm' }
  | { is: 'date'; year: number; month: number; day: number }
  | { is: 'unit'; unit: Unit }
  | { is: 'adverb'; unit: Unit }
  | { is: 'weekday'; days: readonly number[] }
  | { is: 'month'; month: number }
  | { is: 'period'; period: Period }
  | { is: 'clock'; hour: number }
  | { is: 'day'; offset: number; period?: Period }
  | { is: 'part'; minutes: 15 | 30 }
  | { is: Mark };

export type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';
export type Period = 'am' | 'pm' | 'morning' | 'afternoon' | 'evening' | 'night';
/** Words that only hold a phrase together. */
type Mark =
  | 'every'
  | 'at'
  | 'on'
  | 'in'
  | 'of'
  | 'and'
  | 'si'
  | 'outOf'
  | 'to'
  | 'until'
  | 'from'
  | 'between'
  | 'past'
  | 'minus'
  | 'last'
  | 'next'
  | 'article';

const words = new Map<string, Token>();

/** Adds phrases, separated by commas, in the spelling that `normalize` gives. */
function say(phrases: string, token: Token): void {
  for (const phrase of phrases.split(',')) words.set(phrase.trim(), token);
}
const marks = (entries: Record<string, Mark>): void => {
  for (const [phrases, is] of Object.entries(entries)) say(phrases, { is });
};

marks({
  'every, each, la fiecare, in fiecare, fiecare, o data la, once every': 'every',
  din: 'outOf',
  'at, la, @, la ora, la orele, ora, orele': 'at',
  'on, pe, pe data de, on the': 'on',
  'in, peste, in the': 'in',
  'of, of the, de, ale, al, ai, din fiecare, al fiecarei, of every, of each': 'of',
  'and, &, plus': 'and',
  si: 'si',
  'to, till': 'to',
  'until, through, pana, pana la, pina, pina la, pana in, -': 'until',
  'from, de la, incepand cu': 'from',
  'between, intre, intre orele': 'between',
  'past, after': 'past',
  fara: 'minus',
  'last, ultima, ultimul, ultimei': 'last',
  'next, viitoare, viitor, urmatoare, urmatorul, urmatoarea, viitorul': 'next',
  'the, a, an': 'article',
});

const units: Record<Unit, string> = {
  second: 'seconds, sec, secs, secunda, secunde, secundele',
  minute: 'minute, minutes, min, mins, minut, minutul, minutele',
  hour: 'hour, hours, hrs, hr, ore',
  day: 'day, days, zi, zile, zilele, zilei',
  week: 'week, weeks, saptamana, saptamani, saptamina, saptamini, saptamanii',
  month: 'month, months, luna, lunii, lunile, a fiecarei luni, al fiecarei luni, ale fiecarei luni',
  year: 'year, years, un an, ani, anul, anului',
};
for (const [unit, phrases] of Object.entries(units) as [Unit, string][]) say(phrases, { is: 'unit', unit });

const adverbs: Partial<Record<Unit, string>> = {
  minute: 'din minut in minut',
  hour: 'once an hour, once every hour, o data pe ora, o data la ora, hourly, din ora in ora, orar, la fiecare ora, in fiecare ora, fiecare ora',
  day: 'everyday, once a day, o data pe zi, daily, zilnic, nightly, din zi in zi',
  week: 'once a week, o data pe saptamana, o data pe saptamina, weekly, saptamanal, saptaminal, din saptamana in saptamana',
  month: 'once a month, o data pe luna, monthly, lunar, din luna in luna',
  year: 'once a year, o data pe an, yearly, annually, anual, din an in an, in fiecare an, la fiecare an, fiecare an',
};
for (const [unit, phrases] of Object.entries(adverbs) as [Unit, string][]) say(phrases, { is: 'adverb', unit });

[
  'monday, mondays, mon, luni, lunea, lun',
  'tuesday, tuesdays, tue, tues, marti, martea',
  'wednesday, wednesdays, wed, miercuri, miercurea, mie',
  'thursday, thursdays, thu, thur, thurs, joi, joia, joile',
  'friday, fridays, fri, vineri, vinerea, vinerile, vin',
  'saturday, saturdays, sat, sambata, simbata, sambetele, sam',
  'sunday, sundays, sun, duminica, duminicile, dum',
].forEach((phrases, i) => say(phrases, { is: 'weekday', days: [i + 1] }));
say(
  'weekday, weekdays, workday, workdays, working day, working days, business day, business days, zi lucratoare, zile lucratoare, zilele lucratoare, ziua lucratoare, zilele de lucru, zilele saptamanii',
  { is: 'weekday', days: [1, 2, 3, 4, 5] },
);
say('weekend, weekends, weekenduri, weekendul, weekendurile, sfarsit de saptamana, sfarsitul saptamanii', {
  is: 'weekday',
  days: [6, 7],
});

[
  'january, jan, ianuarie, ian',
  'february, feb, februarie',
  'march, mar, martie',
  'april, apr, aprilie',
  'may, mai',
  'june, jun, iunie, iun',
  'july, jul, iulie, iul',
  'august, aug',
  'september, sep, sept, septembrie',
  'october, oct, octombrie',
  'november, nov, noiembrie',
  'december, dec, decembrie',
].forEach((phrases, i) => say(phrases, { is: 'month', month: i + 1 }));

const periods: Record<Period, string> = {
  am: 'am, a.m., a.m',
  pm: 'pm, p.m., p.m',
  morning: 'morning, mornings, dimineata, diminetile, de dimineata',
  afternoon: 'afternoon, afternoons, dupa amiaza, dupa-amiaza, dupa masa, dupa-masa',
  evening: 'evening, evenings, seara, serile',
  night: 'night, nights, noaptea, noptile, at night',
};
for (const [period, phrases] of Object.entries(periods) as [Period, string][]) say(phrases, { is: 'period', period });

say('noon, midday, amiaza, pranz, prinz, amiaza zilei, la pranz, la amiaza, at noon', { is: 'clock', hour: 12 });
say('midnight, miezul noptii, la miezul noptii, at midnight', { is: 'clock', hour: 0 });
say('today, azi, astazi', { is: 'day', offset: 0 });
say('tonight, this evening, diseara, deseara, in seara asta, asta seara, in aceasta seara', {
  is: 'day',
  offset: 0,
  period: 'evening',
});
say('tomorrow, maine, miine', { is: 'day', offset: 1 });
say('day after tomorrow, the day after tomorrow, poimaine, poimiine', { is: 'day', offset: 2 });
say('quarter, a quarter, un sfert, sfert', { is: 'part', minutes: 15 });
say('half, jumatate, o jumatate, jumate, juma', { is: 'part', minutes: 30 });

const ordinals = [
  'first, 1st, prima, primul, primei, intai, intii, intaia',
  'second, a doua, al doilea',
  'third, a treia, al treilea',
  'fourth, a patra, al patrulea',
  'fifth, a cincea, al cincilea',
];
ordinals.forEach((phrases, i) => say(phrases, { is: 'ordinal', value: i + 1 }));

const english = [
  'one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen',
  'seventeen, eighteen, nineteen',
];
const romanian = [
  'un/unu/o/una, doi/doua, trei, patru, cinci, sase, sapte, opt, noua, zece, unsprezece, doisprezece/douasprezece',
  'treisprezece, paisprezece, cincisprezece, saisprezece, saptesprezece, optsprezece, nouasprezece',
];
const list = (lines: readonly string[]): string[][] =>
  lines.flatMap((line) => line.split(', ').map((word) => word.split('/')));
const small = [list(english), list(romanian)] as const;
const tens = [
  ['twenty', 'thirty', 'forty', 'fifty', 'sixty'],
  ['douazeci', 'treizeci', 'patruzeci', 'cincizeci', 'saizeci'],
] as const;
for (const [language, numbers] of small.entries()) {
  for (const [i, spellings] of numbers.entries()) {
    for (const word of spellings) say(word, { is: 'number', value: i + 1 });
  }
  for (const [i, ten] of (tens[language] as readonly string[]).entries()) {
    const value = (i + 2) * 10;
    say(ten, { is: 'number', value });
    for (const [j, spellings] of numbers.slice(0, 9).entries()) {
      for (const one of spellings) {
        const compounds = language === 0 ? [`${ten} ${one}`, `${ten}-${one}`] : [`${ten} si ${one}`];
        for (const compound of compounds) words.set(compound, { is: 'number', value: value + j + 1 });
      }
    }
  }
}

/** Meaning of phrases of up to `longestPhrase` words. */
export const lexicon: ReadonlyMap<string, Token> = words;
export const longestPhrase = 4;
