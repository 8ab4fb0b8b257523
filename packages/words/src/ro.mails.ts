import type { enMails } from './en.mails.ts';
import { lasting } from './plural.ts';

const time = (seconds: number): string => lasting('ro', seconds);

/** The Romanian mails. */
export const roMails: typeof enMails = {
  signInCode: (mail) => ({
    subject: `${mail.code} este codul de conectare`,
    text: `Codul de conectare este ${mail.code}. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}.
${mail.network === undefined ? '' : `\nA fost cerut din rețeaua ${mail.network}.\n`}
Nu da codul nimănui. Dacă nu l-ai cerut, poți ignora acest mesaj: fără cod nu intră nimeni.
`,
  }),
  recoveryLink: (mail) => ({
    subject: 'Recapătă accesul la cont',
    text: `Deschide acest link pentru a alege o parolă sau o cheie de acces nouă. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}:

${mail.link}
${mail.network === undefined ? '' : `\nA fost cerut din rețeaua ${mail.network}.\n`}
Toate celelalte dispozitive vor fi deconectate. Dacă nu ai cerut acest lucru, poți ignora mesajul: nu s-a schimbat nimic.
`,
  }),
  invitation: (mail) => ({
    subject: `Invitație pe ${mail.server}`,
    text: `${mail.from === undefined ? 'Ai primit o invitație' : `${mail.from} te invită`} pe ${mail.server}. Deschide acest link pentru a crea contul. Se poate folosi o singură dată, timp de ${time(mail.validSeconds)}:

${mail.link}

Dacă nu aștepți o invitație, poți ignora acest mesaj.
`,
  }),
  newDevice: (mail) => ({
    subject: 'S-a conectat un dispozitiv nou',
    text: `Un dispozitiv nou s-a conectat la contul tău.

Dispozitiv: ${mail.device}
${mail.network === undefined ? '' : `Rețea: ${mail.network}\n`}Ora: ${mail.at}

Dacă ai fost tu, nu trebuie să faci nimic. Dacă nu, deconectează-l și alege acum o parolă nouă:

${mail.link}
`,
  }),
  addressChanged: (mail) => ({
    subject: 'Adresa de e-mail a fost schimbată',
    text: `Adresa contului tău este acum ${mail.address}. De acum mesajele ajung acolo.

Ora: ${mail.at}

Dacă nu ai fost tu, adresează-te imediat operatorului acestui server: el poate deconecta pe toată lumea și îți poate da un link nou.
`,
  }),
};
