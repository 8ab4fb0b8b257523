/** A public holiday; `date` is `YYYY-MM-DD`. */
export interface Holiday {
  date: string;
  name: string;
}

const fixedDays: readonly [string, string][] = [
  ['01-01', 'Anul Nou'],
  ['01-02', 'A doua zi de Anul Nou'],
  ['01-06', 'Boboteaza'],
  ['01-07', 'Sfântul Ioan Botezătorul'],
  ['01-24', 'Ziua Unirii Principatelor Române'],
  ['05-01', 'Ziua Muncii'],
  ['06-01', 'Ziua Copilului'],
  ['08-15', 'Adormirea Maicii Domnului'],
  ['11-30', 'Sfântul Andrei'],
  ['12-01', 'Ziua Națională a României'],
  ['12-25', 'Crăciunul'],
  ['12-26', 'A doua zi de Crăciun'],
];

const aroundEaster: readonly [number, string][] = [
  [-2, 'Vinerea Mare'],
  [0, 'Paștele'],
  [1, 'A doua zi de Paște'],
  [49, 'Rusaliile'],
  [50, 'A doua zi de Rusalii'],
];

const dayMs = 86_400_000;

/**
 * Romania's public holidays of a year, by date: Labour Code, article 139, as it reads since 2024. Days that the
 * government grants in a single year are not among them. Two holidays may share a date (1 June and Pentecost).
 */
export function romanianHolidays(year: number): Holiday[] {
  const easter = orthodoxEaster(year);
  const holidays = [
    ...fixedDays.map(([day, name]) => ({ date: `${String(year).padStart(4, '0')}-${day}`, name })),
    ...aroundEaster.map(([days, name]) => ({ date: isoDate(easter + days * dayMs), name })),
  ];
  return holidays.sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
}

/** The date of an instant in UTC. */
export function isoDate(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** Midnight UTC of Orthodox Easter: Meeus' Julian algorithm, then the days by which the Julian calendar lags. */
function orthodoxEaster(year: number): number {
  const moon = (19 * (year % 19) + 15) % 30;
  const weekday = (2 * (year % 4) + 4 * (year % 7) - moon + 34) % 7;
  const month = Math.floor((moon + weekday + 114) / 31);
  const day = ((moon + weekday + 114) % 31) + 1;
  const lag = Math.floor(year / 100) - Math.floor(year / 400) - 2;
  return Date.UTC(year, month - 1, day + lag);
}
