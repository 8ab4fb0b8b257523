const english = new Intl.PluralRules('en');
const romanian = new Intl.PluralRules('ro');

/** A count with its noun in English. */
export const countEn = (count: number, one: string, other: string): string =>
  `${count.toLocaleString('en')} ${english.select(count) === 'one' ? one : other}`;

/** A count with its noun in Romanian: 1 monitor, 2 monitoare, 20 de monitoare. */
export function countRo(count: number, one: string, few: string): string {
  const form = romanian.select(count);
  const number = count.toLocaleString('ro');
  return form === 'one' ? `${number} ${one}` : form === 'few' ? `${number} ${few}` : `${number} de ${few}`;
}
