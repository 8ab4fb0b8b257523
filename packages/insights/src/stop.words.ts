const setOf = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/));

/** Words that say nothing alone, in English and Romanian, folded; those of a conversation too. */
export const stopWords = setOf(`
a about above actually after again against all also although always am an and any anybody anyone anything are around as at
away back basically be because been before being below between both but by came can cannot come could did do does doing done
down during each either else even ever every everybody everyone everything few for from further get gets getting give go goes
going gone gonna got guess had has have having he hello hence her here hers herself hey hi him himself his how however i if
in indeed instead into is it its itself just kind know let lets like little lot lots made make makes many may maybe me mean
might mine more most much must my myself need needs neither no nobody none nor not nothing now of off oh ok okay on once one
only onto or other others otherwise ought our ours ourselves out over own per perhaps please pretty put quite rather really
right said same say says see seem seems shall she should since so some somebody someone something sometimes sort still such
sure take than thank thanks that the their theirs them themselves then there therefore these they thing things think this
those though through thus till to too toward towards um uh uhm under unless until up upon us very via wanna want wants was
way we well were what whatever when where whether which while who whole whom whose why will with within without would yeah
yep yes yet you your yours yourself yourselves
aceasta aceea aceia acel acela acele acelea acelasi acest acesta aceste acestea acesti acestia acestui acolo acum adica ai
aia aici al ala alt alta alte altfel altii am ar are as asa asadar asta astea asta astfel asupra atat atata ati atunci au
avea avem aveti azi ba bine bun buna ca cam cand care carei caror carora cat cate catre cati ce cea ceea cei cel cele celor
ceva chiar ci cine cineva cu cui cum cumva da daca dar dat de deci deja deoarece desi despre din dintr dintre doar doresc
dumneavoastra dupa e ea ei el ele era erau este eu fac face facem facut fapt fara fata fel fi fie fiecare fiind foarte fost
gen gata haide hai iar ii il imi in inainte inapoi inca insa intr intre isi iti la lasa le li lor lui ma mai mare mea mei
mele mereu merge mersi meu mi mie mine mod mult multa multe multi multumesc n ne nevoie ni nici niciodata nimeni nimic niste
noastra noastre noi nostri nostru noua nu numai o odata ok or ori oricare orice oricum pai pana parca pare pe pentru peste
pot poate poti prea prin printr pur putea putem puteti putin s sa sai sale sau se si sigur simplu sint spre spun spune sub
sunt suntem sunteti ta tai tale tau te ti tine toata toate tot toti totul totusi trebuie tu un una unde unei unele uneori
unii unor unu unui unul va vad vai vi voi vom vor vostru vrea vreau vrem vreo vreun zic zice zis
`);

/** Words that deny, folded. */
export const negations = setOf(`
not no never nobody nothing none neither nor cannot without
nu n nici niciodata niciun nicio nimic nimeni fara
`);

/** Days, months and words for days, folded: a statement with one needs that very word. */
export const dateWords = setOf(`
monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october
november december today tomorrow tonight yesterday
luni marti miercuri joi vineri sambata duminica ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie
decembrie azi maine poimaine ieri diseara
`);
