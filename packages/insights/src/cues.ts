/** Phrases of English and Romanian that show what a sentence does. All are tried on folded text of one sentence. */

/** What a sentence asks to be done, and of whom. */
export type Task = 'self' | 'all' | 'other';

const day = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
const month = '(?:january|february|march|april|may|june|july|august|september|october|november|december)';
const zi = '(?:luni|marti|miercuri|joi|vineri|sambata|duminica)';
const luna = '(?:ianuarie|februarie|martie|aprilie|mai|iunie|iulie|august|septembrie|octombrie|noiembrie|decembrie)';
const count = '(?:\\d{1,3}|[a-z]+)';

const dates = [
  // English.
  `(?:the )?(?:end of (?:the |this |next )?(?:day|week|month|quarter|year|${day}))`,
  `(?:(?:this|next|coming) )?${day}(?: (?:morning|afternoon|evening|night|noon|next week))?`,
  `${month} (?:the )?\\d{1,2}(?:st|nd|rd|th)?\\b`,
  `(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${month}\\b`,
  `the \\d{1,2}(?:st|nd|rd|th)\\b`,
  `(?:this|next) (?:week|month|quarter|year)`,
  `(?:tomorrow|today|tonight)(?: (?:morning|afternoon|evening|night))?`,
  `(?:in|within) ${count} (?:hours?|days?|weeks?|months?)`,
  // Romanian.
  `(?:sfarsitul|finalul|mijlocul|inceputul) (?:zilei|saptamanii|lunii|trimestrului|anului)(?: viitoare| viitor)?`,
  `(?:maine|poimaine|azi|diseara)(?: (?:dimineata|seara|la pranz|dupa-amiaza|dupa amiaza))?`,
  `${zi} (?:dimineata|seara|la pranz|dupa-amiaza|dupa amiaza|viitoare|viitor)`,
  `\\d{1,2} ${luna}`,
  `(?:saptamana|luna) (?:viitoare|asta|aceasta)|(?:trimestrul|anul) viitor`,
  `(?:in|peste) ${count}(?: de)? (?:ore|zile|saptamani|luni)`,
].join('|');
const hour = `(?:,? (?:at|la|la ora|ora) \\d{1,2}(?:[:.]\\d\\d)?(?: ?[ap]m)?)?`;
const before = `(?:no later than|by|before|until|due|on|cel tarziu|pana (?:la|in|pe|cel tarziu)|pana|inainte de|pe|de)`;
/** A date with the word before it, or one that stands alone. A weekday alone is "luni" and may be months: it needs the word. */
const due = new RegExp(`\\b(?:${before} (?:${dates}|${zi})|${dates})${hour}(?![a-z0-9])`);

/** Where a sentence says by when: units of the folded text, first and past the last. */
export function dueIn(folded: string): [number, number] | undefined {
  const found = due.exec(folded);
  return found ? [found.index, found.index + found[0].length] : undefined;
}

const chatter = new RegExp(
  `\\b(?:i(?:'ll| will| have to| need to| must| can) (?:say|be (?:honest|brief|back|quick|right)|admit|go|jump|leave|drop|start by|let you|share my screen|stop)|we(?:'ll| will) see|let's (?:see|start|begin|move on|wrap|go (?:on|ahead|round|around)|get (?:started|going)|continue|jump|talk|take a (?:look|break))|i will see|(?:trebuie|o|am|vom|hai|sa) sa (?:recunosc|spun|zic|plec|fug|vedem|fie|ne vedem|incepem|trecem|continuam|vorbim|inchei|va rog|avem)|vom vedea|va fi|o sa fie|o sa ai)\\b`,
);

const selfEnglish =
  /\bi(?:'ll| will|'m going to| am going to| need to| have to| promise to| can (?:take|send|do|prepare|write|check|handle|fix|set|talk|ask|draft|call|share|look))\b|\blet me (?:send|check|prepare|write|draft|ask|call|look into|find out|set up|take)\b/;
const allEnglish =
  /\bwe(?:'ll| will| need to| have to| must|'re going to| are going to)\b|\baction item\b|\b(?:needs|has) to be (?:done|sent|fixed|ready|updated|written|checked|signed|tested|published)\b/;
const otherEnglish =
  /\b(?:can|could|would|will) you (?:please )?[a-z]+|\bplease [a-z]+|\byou(?:'ll| will| need to| have to) [a-z]+/;

/** Clitics between "să" and its verb. */
const clitics = '(?:(?:ma|imi|il|o|le|ii|va|te|ti|vi|ne|mi|l|i|le|ti-o|o)[ -])*';
const subjunctive = new RegExp(`\\b(?:o|am|trebuie|raman|ramane) sa(?:-(?:l|i|ti|mi|ti-o))? ${clitics}([a-z]+)`);
const future = /\bvoi (?:(?:mai|si) )?([a-z]+)\b/;
const selfRomanian =
  /\b(?:ma ocup|imi asum|iau eu|preiau|ma apuc|ma gandesc eu|revin eu|revin cu|promit sa)\b|\b(?:trimit|fac|pregatesc|verific|scriu|rezolv|sun|programez|actualizez|organizez|anunt|vorbesc|intreb|caut|adaug|repar|termin|rezerv|intocmesc|stabilesc|confirm) eu\b|\beu (?:trimit|fac|pregatesc|verific|scriu|rezolv|preiau|sun|programez|actualizez|organizez|anunt|vorbesc|intreb|caut|adaug|repar|termin|rezerv|ma ocup|iau)\b/;
const allRomanian =
  /\btrebuie sa\b|\bva trebui sa\b|\btrebuie [a-z]+(?:at|ut|it|is|s)a?\b|\bramane sa\b|\bavem de [a-z]+\b|\bvom [a-z]+(?:a|e|i)\b|\bde facut\b/;
const otherRomanian = /\b(?:poti|puteti|ai putea|ati putea)(?: te rog)? sa\b|\b(?:te|va) rog\b/;
/** Forms of verbs by their ending: "trimitem" is we, "trimită" is somebody else, "trimiți" is you. Else it is I. */
const isWe = (verb: string): boolean => /[aei]m$/.test(verb);
const isThird = (verb: string): boolean => /(?:a|e|easca|ească)$/.test(verb) || /^(?:fie|aiba|stie)$/.test(verb);
const isYou = (verb: string): boolean => /(?:ti|i)$/.test(verb);

/** What a folded sentence gives as a task, and to whom; undefined when it gives none. */
export function taskIn(folded: string): Task | undefined {
  const said = folded.replace(chatter, ' ');
  if (selfEnglish.test(said) || selfRomanian.test(said)) return 'self';
  const infinitive = future.exec(said)?.[1] ?? '';
  if (/(?:a|e|i)$/.test(infinitive) && !/(?:ti|eti|iti)$/.test(infinitive)) return 'self';
  const verb = subjunctive.exec(said)?.[1];
  if (verb !== undefined) return isWe(verb) ? 'all' : isThird(verb) || isYou(verb) ? 'other' : 'self';
  if (otherEnglish.test(said) || otherRomanian.test(said)) return 'other';
  return allEnglish.test(said) || allRomanian.test(said) ? 'all' : undefined;
}

const decided =
  /\b(?:we(?:'ve| have)?(?: all)? (?:decided|agreed|settled|concluded|chose|chosen)|(?:it's|it is|that's|that is) (?:decided|settled|agreed|a decision)|(?:the|our) decision is|decision:|let's go with|we(?:'re| are) going with|we(?:'ll| will) go with|agreed(?:,|:)|then we (?:keep|drop|go)|final decision|am (?:hotarat|decis|stabilit|convenit|ales|agreat)|s-a (?:hotarat|decis|stabilit|convenit)|(?:ramane|a ramas|e|este) (?:stabilit|hotarat|decis|batut in cuie)|a ramas ca|ramane asa|decizia (?:e|este)|mergem (?:pe|cu)|suntem de acord (?:sa|ca)|hotararea (?:e|este))\b/;

/** Whether a folded sentence says what was decided. A question decides nothing. */
export const decides = (folded: string): boolean => !folded.endsWith('?') && decided.test(folded);

const unsure =
  /\b(?:(?:do not|don't) know|not sure|no idea|unclear|have to (?:find out|check|ask)|need to (?:find out|check|ask)|let me (?:check|ask|find out)|open question|we'll see|still open|nu stiu|nu stim|habar n|nu sunt sigur|nu e clar|nu-i clar|ramane deschis|ramane de vazut|vedem|trebuie (?:sa )?(?:intreb|verific|aflu|vad|intrebam|verificam|aflam|vedem)|inca nu)\b/;
const answers =
  /^(?:about|around|roughly|approximately|usually|cam|aproximativ|de obicei|vreo|yes|yeah|yep|no|nope|sure|of course|exactly|right|correct|absolutely|definitely|ok|okay|good|fine|i'll|i will|i can|da|nu|sigur|desigur|exact|corect|asa e|bine|ba da|normal|bineinteles|clar|perfect)\b/;

/** Whether a folded text says that something is not known. */
export const isUnsure = (folded: string): boolean => unsure.test(folded);
/** Whether a folded text begins as an answer does. */
export const isAnswer = (folded: string): boolean => answers.test(folded);

const tag =
  /^(?:(?:is|does|do|are|can) (?:that|everyone|everybody|you|anyone)(?: all)? (?:ok|okay|all right|fine|hear me|see my screen|make sense)|any (?:other )?questions|anything else|how are you|cum esti|ce faci|ma auziti|se aude|se vede|e in regula|alte intrebari|altceva|mai e ceva)\b/;
/** Whether a folded question asks for nothing that minutes keep. */
export const isSmallTalk = (folded: string): boolean => tag.test(folded);

/** Verbs that follow the name of who has a task; up to four words may say who that is: "Ana from the office will". */
export const takesOn =
  /^(?: (?:from|de la|of|din)(?: [a-z]+){1,3})? (?:will|is going to|needs to|has to|should|must|va|o sa|trebuie sa|are de|se ocupa|trimite|face|pregateste|verifica|scrie|rezolva|preia|suna|programeaza|actualizeaza|organizeaza|ramane sa)\b/;
