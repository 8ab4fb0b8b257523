import { lasting } from './plural.ts';

const time = (seconds: number): string => lasting('en', seconds);

/** A mail: one line of subject, and plain text. */
export interface Mail {
  subject: string;
  text: string;
}

/** The English mails. Texts of strangers (names of devices, networks) are given in one line. */
export const enMails = {
  signInCode: (mail: { code: string; validSeconds: number; network?: string | undefined }): Mail => ({
    subject: `${mail.code} is your sign-in code`,
    text: `Your sign-in code is ${mail.code}. It counts once, for ${time(mail.validSeconds)}.
${mail.network === undefined ? '' : `\nIt was asked for from the network ${mail.network}.\n`}
Give this code to nobody. If you did not ask for it, you can ignore this mail: nobody gets in without the code.
`,
  }),
  recoveryLink: (mail: { link: string; validSeconds: number; network?: string | undefined }): Mail => ({
    subject: 'Get back into your account',
    text: `Open this link to set a new password or passkey. It counts once, for ${time(mail.validSeconds)}:

${mail.link}
${mail.network === undefined ? '' : `\nIt was asked for from the network ${mail.network}.\n`}
All other devices are signed out then. If you did not ask for this, you can ignore this mail: nothing has changed.
`,
  }),
  invitation: (mail: { link: string; validSeconds: number; server: string; from?: string | undefined }): Mail => ({
    subject: `Your invitation to ${mail.server}`,
    text: `${mail.from === undefined ? 'You are invited' : `${mail.from} invites you`} to ${mail.server}. Open this link to make your account. It counts once, for ${time(mail.validSeconds)}:

${mail.link}

If you expected no invitation, you can ignore this mail.
`,
  }),
  newDevice: (mail: { device: string; network?: string | undefined; at: string; link: string }): Mail => ({
    subject: 'A new device signed in',
    text: `A new device signed in to your account.

Device: ${mail.device}
${mail.network === undefined ? '' : `Network: ${mail.network}\n`}Time: ${mail.at}

If this was you, there is nothing to do. If not, sign it out and set a new password now:

${mail.link}
`,
  }),
  addressChanged: (mail: { address: string; at: string }): Mail => ({
    subject: 'Your e-mail address was changed',
    text: `The address of your account is now ${mail.address}. Mails go there from now on.

Time: ${mail.at}

If this was not you, ask the operator of this server at once: they can sign everybody out and give you a new link.
`,
  }),
};
