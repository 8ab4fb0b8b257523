import { stem } from './words.ts';

const rootsOf = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/).map(stem));

/** Roots of words that say how something was said, in English and Romanian: a summary may add them. */
export const framing = rootsOf(`
speaker participants team meeting discussion discuss discussed agreed agreement agree decided decide decision mention mentioned
asked ask asks noted suggested suggestion proposed proposal confirmed explained recording conversation talked plan planned
reminded reported answered
echipa participanti participantii vorbitor vorbitorul discutie discutia discutat discuta sedinta sedintei intalnire intalnirea
hotarat hotararea decis decizia stabilit convenit mentionat intrebat propus confirmat explicat inregistrare inregistrarea
reamintit amintit raspuns planul
`);

/** Roots of words that are said in every conversation: no title is made of them. */
export const everyday = rootsOf(`
week weeks day days month months year hour minutes time times today topic topics number numbers people everyone first last next
new old great nice good better perfect big small work works problem question important
saptamana saptamanii luna lunii ora ore minute zile anul subiect subiecte subiectul oameni oamenii prima primul ultimul nou
noul noua vechi veche vechiul mare mic mica buna perfect super problema intrebare important
`);
