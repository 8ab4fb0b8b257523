import type { enMails } from './en.mails.ts';
import { lasting } from './plural.ts';

const time = (seconds: number): string => lasting('ro', seconds);

/** The Romanian mails. */
export const roMails: typeof enMails = {
  signInCode: (mail) => ({
    subject: `${mail.code} este codul de conectare`,
    text: `Codul de conectare este ${mail.code}. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}.
${mail.network === undefined ? '' : `\nA fost cerut din rețeaua ${mail.network}.\n`}
Nu dați codul nimănui. Dacă nu l-ați cerut, puteți ignora acest mesaj: fără cod nu intră nimeni.
`,
  }),
  recoveryLink: (mail) => ({
    subject: 'Recăpătați accesul la cont',
    text: `Deschideți acest link pentru a alege o parolă sau o cheie de acces nouă. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}:

${mail.link}
${mail.network === undefined ? '' : `\nA fost cerut din rețeaua ${mail.network}.\n`}
Toate celelalte dispozitive vor fi deconectate. Dacă nu ați cerut acest lucru, puteți ignora mesajul: nu s-a schimbat nimic.
`,
  }),
  invitation: (mail) => ({
    subject: `Invitație pe ${mail.server}`,
    text: `${mail.from === undefined ? 'Ați primit o invitație' : `${mail.from} vă invită`} pe ${mail.server}. Deschideți acest link pentru a crea contul. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}:

${mail.link}

Dacă nu așteptați o invitație, puteți ignora acest mesaj.
`,
  }),
  newDevice: (mail) => ({
    subject: 'S-a conectat un dispozitiv nou',
    text: `Un dispozitiv nou s-a conectat la contul dumneavoastră.

Dispozitiv: ${mail.device}
${mail.network === undefined ? '' : `Rețea: ${mail.network}\n`}Ora: ${mail.at}

Dacă ați fost dumneavoastră, nu trebuie să faceți nimic. Dacă nu, deconectați-l și alegeți acum o parolă nouă:

${mail.link}
`,
  }),
  addressChanged: (mail) => ({
    subject: 'Adresa de e-mail a fost schimbată',
    text: `Adresa contului dumneavoastră este acum ${mail.address}. De acum mesajele ajung acolo.

Ora: ${mail.at}

Dacă nu ați fost dumneavoastră, adresați-vă imediat operatorului acestui server: el poate deconecta pe toată lumea și vă poate da un link nou.
`,
  }),
};
