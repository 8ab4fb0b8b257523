import type { Manifest } from '../../kernel/feature.ts';
import { authCommands } from './auth.commands.ts';
import { deleteLinksTo } from './people/links.sql.ts';
import { loginsQuota } from './people/logins.sql.ts';
import { passkeysQuota } from './people/passkeys.sql.ts';

export type { Identity } from './auth.identity.ts';
export { signInsOf } from './auth.sign-ins.ts';
export { createSetupLink, linkUrl } from './auth.links.ts';
export type { AuthServer } from './auth.serve.ts';
export { headersOf, PageVisit, takesSignIns } from './flows/visit.ts';
export { html } from './pages/html.ts';
export { messagePage, redirectPage } from './pages/notes.ts';
export { nameOfBrowser } from './people/browsers.ts';
export { countRecoveryCodes, makeRecoveryCodes } from './people/codes.ts';
export { endLinks } from './people/links.ts';
export { listLogins } from './people/logins.sql.ts';
export { createLogin, endLogin, endLogins } from './people/logins.ts';
export {
  authenticationOptions,
  registerPasskey,
  registrationOptions,
  relyingParty,
  removePasskey,
  renamePasskey,
} from './people/passkeys.ts';
export { countPasskeysElsewhere, listPasskeys, type PasskeyRow } from './people/passkeys.sql.ts';
export { hasPassword, removePassword, setPassword } from './people/passwords.ts';
export { confirmPhone, createPhoneLink, phoneState } from './people/phones.ts';
export { type Proofs, proveAgain } from './people/proofs.ts';
export { hubClient } from './provider/clients.ts';
export { accessTokenPrefix } from './provider/library.ts';

/** The feature without a running platform. */
export const authManifest: Manifest = {
  name: 'auth',
  data: {
    tables: [
      'auth.logins',
      'auth.passwords',
      'auth.passkeys',
      'auth.recovery_codes',
      'auth.links',
      'auth.challenges',
      'auth.guesses',
      'auth.records',
    ],
    // An invitation, or a code that was asked for before there was an account.
    async end({ sql }, { email }) {
      return { deleted: { 'auth.links': email === undefined ? 0 : await deleteLinksTo(sql, email) } };
    },
  },
  quotas: [loginsQuota, passkeysQuota],
  commands: authCommands,
};

export { sealedTokenAnswers } from './provider/exchange.sql.ts';
export { sealedSigningKeys } from './provider/keys.sql.ts';
export { sealedRecords } from './provider/records.sql.ts';
