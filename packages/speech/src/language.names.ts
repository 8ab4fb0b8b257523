/** Code and English names of the most common languages; several names of one are parted by a comma. */
const list = `af:afrikaans am:amharic ar:arabic az:azerbaijani be:belarusian bg:bulgarian bn:bengali,bangla bs:bosnian
ca:catalan,valencian cs:czech cy:welsh da:danish de:german el:greek en:english es:spanish,castilian et:estonian eu:basque
fa:persian,farsi fi:finnish fr:french ga:irish gl:galician gu:gujarati he:hebrew hi:hindi hr:croatian hu:hungarian
hy:armenian id:indonesian is:icelandic it:italian ja:japanese ka:georgian kk:kazakh km:khmer kn:kannada ko:korean
lo:lao lt:lithuanian lv:latvian mk:macedonian ml:malayalam mn:mongolian mr:marathi ms:malay my:burmese,myanmar ne:nepali
nl:dutch,flemish nn:nynorsk no:norwegian pa:punjabi,panjabi pl:polish ps:pashto pt:portuguese
ro:romanian,moldavian,moldovan ru:russian si:sinhala,sinhalese sk:slovak sl:slovenian so:somali sq:albanian sr:serbian
sv:swedish sw:swahili ta:tamil te:telugu th:thai tl:tagalog,filipino tr:turkish uk:ukrainian ur:urdu uz:uzbek
vi:vietnamese xh:xhosa yi:yiddish yo:yoruba zh:chinese,mandarin zu:zulu`;

/** Codes of two letters by the languages' English names in lower case. */
export const names: ReadonlyMap<string, string> = new Map(
  list.split(/\s+/).flatMap((line) => {
    const [code = '', own = ''] = line.split(':');
    return own.split(',').map((name) => [name, code] as const);
  }),
);
