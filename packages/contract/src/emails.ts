/** The form of a mail address that this product takes. */
export const emailShape = /^[^\s@<>",;]+@[^\s@<>",;]+$/;
const longest = 254;

/** What is not seen, or turns the letters around it: zero width, directions, controls, fillers, what has no meaning. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;
/** Letters of one script, or of those that one language is written in. */
const oneScript = new RegExp(
  `^(?:${[
    'Latin|Cyrillic|Greek|Armenian|Georgian|Hebrew|Arabic|Devanagari|Bengali|Gurmukhi|Gujarati|Tamil|Telugu|Kannada',
    'Malayalam|Sinhala|Thai|Lao|Khmer|Myanmar|Ethiopic|Mongolian|Tibetan',
  ]
    .join('|')
    .split('|')
    .map((script) => `\\p{scx=${script}}*`)
    .join(
      '|',
    )}|[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}]*|[\\p{scx=Han}\\p{scx=Hangul}]*|[\\p{scx=Han}\\p{scx=Bopomofo}]*)$`,
  'u',
);
const ofNoScript = /[\p{sc=Common}\p{sc=Inherited}]/gu;
/** Letters of other scripts that nobody tells from Latin ones; a whole name of them is read as another one. */
const likeLatin = /^[аеорсухіјѕһӏԁԛԝАВЕКМНОРСТУХІЈЅԌαονρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհցզՕՍՏ]+$/u;
/**
 * Letters of the Latin script itself that nobody tells from those of ASCII: without their dot, of phonetics, small
 * capitals.
 */
const latinLike = /[ɑɡıȷɩƖǀɾƿƅʟɪʀʜʙɴʏɢᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢꜰꜱ]/u;
const ascii = /^\p{ASCII}*$/u;

const isOneScript = (text: string): boolean => oneScript.test(text.replace(ofNoScript, ''));

/** Whether its letters that are not of ASCII all look like some that are. */
function isLikeLatin(text: string): boolean {
  const letters = text.replace(ofNoScript, '').replace(/[a-z]/gi, '');
  return letters !== '' && likeLatin.test(letters);
}

/**
 * A domain as the name system has it, which shows every letter that is not of ASCII; undefined: it has no such form.
 */
function namedDomain(domain: string): string | undefined {
  if (ascii.test(domain)) return domain;
  if (!/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)) return undefined;
  return URL.parse(`http://${domain}/`)?.hostname;
}

/**
 * An address of a new account as it is kept: in the composed form, letters of one script, its domain as the name system
 * has it. Undefined for what is none, or could be taken for another one: with letters that are not seen, of mixed
 * scripts, or that look like those of ASCII. Addresses that accounts have already stay as they are.
 */
export function newEmail(given: string): string | undefined {
  const text = given.normalize('NFKC');
  if (!emailShape.test(text) || unseen.test(given) || unseen.test(text)) return undefined;
  const at = text.lastIndexOf('@');
  const [local, labels] = [text.slice(0, at), text.slice(at + 1).split('.')];
  // `a@example.com.` is the mailbox of `a@example.com`.
  if (labels.includes('') || ![local, ...labels].every(isOneScript) || isLikeLatin(local) || latinLike.test(local))
    return undefined;
  const domain = namedDomain(labels.join('.'));
  const kept = domain === undefined ? undefined : `${local}@${domain}`;
  return kept !== undefined && kept.length <= longest ? kept : undefined;
}
