/**
 * A stop that ends a sentence: before white space, with the quotes and brackets that close it. The match begins where a run of
 * stops does: else 40,000 dots would take seconds.
 */
const stop = /(?<![.!?…])[.!?…]+["”’»)\]]*(?=\s|$)/gu;

/** Words whose stop ends no sentence, in English and Romanian; lower case. */
const abbreviations = new Set(
  (
    'mr mrs ms dr prof st sr jr rev hon gen col sgt capt lt no nos vol pp fig vs approx est dept inc ltd co corp e.g i.e cf ' +
    'jan feb mar apr jun jul aug sept sep oct nov dec a.m p.m u.s u.k ' +
    'dl d-l dna d-na dle d-lui nr art alin pct lit str bd bl sc ap et jud com mun cca aprox tel vol pag ex resp ing av arh ' +
    'conf min max ian febr mart iun iul noi ș.a s.a ș.a.m.d n.r p.s î.hr d.hr i.hr'
  ).split(' '),
);

/** Where the sentences of a block end: UTF-16 units, past the last of each. A block is a line, or some that were wrapped. */
export function sentenceEnds(block: string): number[] {
  const ends: number[] = [];
  for (const match of block.matchAll(stop)) {
    const end = match.index + match[0].length;
    if (end >= block.length || isEnd(block, match.index, end, match[0])) ends.push(end);
  }
  if (ends.at(-1) !== block.length) ends.push(block.length);
  return ends;
}

function isEnd(block: string, at: number, end: number, sign: string): boolean {
  // Text that goes on in lower case is the same sentence, whatever the sign: "Yahoo! was".
  if (/^\s+["“„‘«([]*\p{Ll}/u.test(block.slice(end, end + 8))) return false;
  if (!sign.startsWith('.') || sign.startsWith('..')) return true;
  const word = /[\p{L}\p{N}.-]*$/u.exec(block.slice(Math.max(0, at - 12), at))?.[0] ?? '';
  // An initial: J. Smith.
  if (/^\p{Lu}$/u.test(word)) return false;
  return !abbreviations.has(word.toLowerCase());
}
