/** A BCP 47 tag in usual case, or `''`. */
export function languageTag(text: string): string {
  const tag = (text.trim().split(/[,;\s]/, 1)[0] ?? '').replaceAll('_', '-');
  if (tag.length > 35 || !/^[a-z]{2,3}(?:-[a-z0-9]{1,8})*$/i.test(tag)) return '';
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? '';
  } catch {
    return '';
  }
}

const pad = (value: number | string): string => `${value}`.padStart(2, '0');
const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');

function day(year: number, month: number, date: number): string {
  const time = new Date(Date.UTC(year, month - 1, date));
  const isReal = time.getUTCMonth() === month - 1 && time.getUTCDate() === date && year >= 1000 && year <= 2200;
  return isReal ? `${year}-${pad(month)}-${pad(date)}` : '';
}

/** A date as `YYYY-MM-DD`, or as an instant in UTC when it has a time and a zone; `''` for anything else. */
export function dateOf(text: string): string {
  const said = text.trim().slice(0, 100);
  const iso =
    /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?/i.exec(
      said,
    );
  if (iso !== null) {
    const [, year, month, date, hour, minute, second, zone] = iso;
    const plain = day(Number(year), Number(month), Number(date));
    if (plain === '' || hour === undefined || zone === undefined) return plain;
    const offset = /^z$/i.test(zone) ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
    return instant(Date.parse(`${plain}T${hour}:${minute}:${second ?? '00'}${offset}`)) || plain;
  }
  const compact = /^(\d{4})(\d{2})(\d{2})(?:T|$)/.exec(said);
  if (compact !== null) return day(Number(compact[1]), Number(compact[2]), Number(compact[3]));
  const month = (name: string | undefined): number => months.indexOf((name ?? '').slice(0, 3).toLowerCase()) + 1;
  if (/^[a-z]{3},? \d{1,2} [a-z]{3} \d{4} \d/i.test(said)) return instant(Date.parse(said));
  const dayFirst = /^(?:[a-z]{3,9},? )?(\d{1,2}) ([a-z]{3,9})\.? (\d{4})/i.exec(said);
  if (dayFirst !== null) return day(Number(dayFirst[3]), month(dayFirst[2]), Number(dayFirst[1]));
  const monthFirst = /^([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})/i.exec(said);
  return monthFirst === null ? '' : day(Number(monthFirst[3]), month(monthFirst[1]), Number(monthFirst[2]));
}

const instant = (milliseconds: number): string =>
  Number.isFinite(milliseconds) && milliseconds > -3e13 && milliseconds < 7.3e12
    ? new Date(milliseconds).toISOString().replace('.000Z', 'Z')
    : '';
