/** The languages that the server speaks. */
export const locales = ['en', 'ro'] as const;
export type Locale = (typeof locales)[number];

/**
 * The language that an `Accept-Language` header asks for most: the one with the highest `q`, of equals the first. English
 * when the header is absent or names neither. Never throws.
 */
export function localeOf(acceptLanguage: string | undefined): Locale {
  let best: Locale = 'en';
  let highest = 0;
  // 2,000 characters hold any honest header.
  for (const part of (acceptLanguage ?? '').slice(0, 2_000).split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const locale = locales.find((one) => range === one || range.startsWith(`${one}-`));
    if (locale === undefined) continue;
    const weight = parameters.find((piece) => piece.startsWith('q='))?.slice(2) ?? '1';
    const q = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0;
    if (q > highest) {
      best = locale;
      highest = q;
    }
  }
  return best;
}
