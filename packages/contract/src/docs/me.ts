import type { login, me, meRoutes, passkey } from '../me.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const ana: z.output<typeof me> = {
  account: {
    id: samples.account,
    email: 'ana@example.com',
    email_verified: false,
    name: 'Ana',
    created_at: '2026-11-02T08:15:00.000Z',
  },
  actor: { kind: 'key', id: samples.caller, scopes: ['*'], tool_level: 'l3_sandbox' },
  features: {},
  operator: false,
  orgs: [],
  sign_in: { password: false, passkeys: 0, recovery_codes_left: 0 },
};
const signedIn: z.output<typeof me> = {
  ...ana,
  actor: {
    kind: 'login',
    id: samples.login,
    scopes: ['me'],
    tool_level: 'l3_sandbox',
    auth_time: '2026-11-02T08:58:00.000Z',
  },
  sign_in: { password: true, passkeys: 0, recovery_codes_left: 0 },
};
const phone: z.output<typeof passkey> = {
  id: samples.passkey,
  name: 'Phone',
  created_at: '2026-11-02T08:15:00.000Z',
  backed_up: false,
};
const laptop: z.output<typeof login> = {
  id: samples.login,
  name: 'Firefox on Linux',
  platform: 'Linux',
  created_at: '2026-11-02T08:15:00.000Z',
  last_seen_at: '2026-11-02T08:59:00.000Z',
  expires_at: '2026-12-02T08:59:00.000Z',
  network: '192.0.2.7',
  amr: ['pwd'],
  current: true,
};
/** A challenge, as a browser gets it. */
const challenge = 'RVhBTVBMRS1jaGFsbGVuZ2UtRVhBTVBMRS0wMDAwMDA';

/** Descriptions and examples of the routes of one's own account. */
export const meDocs = {
  get: {
    description:
      'Takes an API key too, whatever its scopes. With a signed-in browser `actor.kind` is `login`, and `auth_time` says ' +
      'when the person proved last who they are. All other routes here take no key.',
    example: { response: ana },
  },
  update: {
    description:
      'Only the fields that are sent change; null sets `name`, `locale` or `tz` back. `email` needs a proof of who one is ' +
      'within 10 minutes (403 `reauth_required`) and counts as unproved; one that another account has is 409 `email_taken`, ' +
      'and of 20 that were sent in a minute the next is 429 `rate_limit_exceeded`.',
    example: {
      body: { name: 'Ana', locale: 'ro' },
      response: { ...signedIn, account: { ...ana.account, locale: 'ro' } },
    },
  },
  remove: {
    description:
      'Signs out everywhere and refuses every key at once; the data goes within minutes, and cannot be brought back. Who is ' +
      'the last operator, or the last owner of something that others use, gets 409 with what to do first.',
    example: { response: { deleted: true, id: samples.account } },
  },
  reauthOptions: {
    description: 'Hand it to `navigator.credentials.get()`, and send its answer to `POST /v1/me/reauth`.',
    example: {
      response: {
        rpId: 'svc.example.com',
        challenge,
        allowCredentials: [{ id: 'RVhBTVBMRQ', transports: ['internal'], type: 'public-key' }],
        timeout: 300_000,
        userVerification: 'required',
      },
    },
  },
  reauth: {
    description:
      'For routes that answer `reauth_required`; the proof counts for 10 minutes. A wrong one is 403 `reauth_failed`. ' +
      'After five wrong passwords the answer is 429, and `Retry-After` says when the next try may come.',
    example: { body: { password: samples.password }, response: { auth_time: '2026-11-02T09:00:00.000Z' } },
  },
  setPassword: {
    description:
      'At least 12 characters, none of the passwords that attackers try first, and not the e-mail address: else 400 with ' +
      'the reason in words. Other browsers are signed out; keys and connected apps stay.',
    example: { body: { password: samples.password }, response: { changed: true } },
  },
  removePassword: {
    description: 'Only while there is a passkey: else 409 `last_way_in`.',
    example: { response: { deleted: true } },
  },
  listPasskeys: {
    description:
      'An account has at most 20 of them. Neither the public key nor the id that the browser knows is shown.',
    example: { response: { passkeys: [phone] } },
  },
  passkeyOptions: {
    description:
      'Hand it to `navigator.credentials.create()`, and send its answer to `POST /v1/me/passkeys`. Past 20 passkeys the ' +
      'answer is 429 `quota_exceeded`.',
    example: {
      response: {
        challenge,
        rp: { name: 'svc.example.com', id: 'svc.example.com' },
        user: { id: 'RVhBTVBMRS11c2VyLTAw', name: 'ana@example.com', displayName: 'Ana' },
        pubKeyCredParams: [{ alg: -7, type: 'public-key' }],
        timeout: 300_000,
        attestation: 'none',
        excludeCredentials: [],
        authenticatorSelection: { residentKey: 'required', userVerification: 'required', requireResidentKey: true },
        extensions: { credProps: true },
        hints: [],
      },
    },
  },
  addPasskey: {
    description:
      'An answer to a challenge that is over, was used or is of somebody else is 400. The person is told of it, by mail ' +
      'too when mail is set.',
    example: {
      body: { passkey: { id: 'RVhBTVBMRQ', type: 'public-key' }, name: 'Phone' },
      response: phone,
    },
  },
  updatePasskey: {
    description: 'The name is for the person alone, to tell passkeys apart.',
    example: { params: { id: samples.passkey }, body: { name: 'Phone' }, response: phone },
  },
  removePasskey: {
    description: 'The last passkey of an account without a password stays: 409 `last_way_in`.',
    example: { params: { id: samples.passkey }, response: { deleted: true, id: samples.passkey } },
  },
  makeRecoveryCodes: {
    description:
      'Each lets the person back in once, with a new password. Those that there were count no more. Print them, or keep ' +
      'them in a password manager: no other answer has them.',
    example: { response: { codes: ['ABCDE-FGH23', 'JKLMN-PQR45'] } },
  },
  listLogins: {
    description: 'An account has at most 50: a further one ends the one that was not used for longest.',
    example: { response: { logins: [laptop] } },
  },
  endLogin: {
    description:
      'The answer comes once every live gateway refuses it, and its open streams end. Every browser has to prove anew who ' +
      'one is before it signs in again.',
    example: { params: { id: samples.otherLogin }, response: { deleted: true, id: samples.otherLogin } },
  },
  endLogins: {
    description:
      'All browsers but the one that asks, which stays signed in at the sign-in pages too and gets new cookies: copies of the ' +
      'former ones end once it uses them. API keys and connected apps go on.',
    example: { response: { ended: 2 } },
  },
  createLink: {
    description:
      'Show `url` as a QR code, or `code` to type. A phone that opens it shows a number, which `GET /v1/me/links/{id}` ' +
      'lists among three and `POST …/confirm` picks. Five links are open at most; a further one ends the oldest.',
    example: {
      response: {
        id: samples.link,
        url: 'https://svc.example.com/auth/phone#EXAMPLE-link-token-EXAMPLE-link-token-00000',
        code: 'ABCD-EFGH',
        expires_at: '2026-11-02T09:05:00.000Z',
      },
    },
  },
  getLink: {
    description: 'Ask every few seconds. A link that is over, or whose number was picked wrong, is 404.',
    example: {
      params: { id: samples.link },
      response: {
        state: 'claimed',
        expires_at: '2026-11-02T09:05:00.000Z',
        phone: { name: 'Safari on iPhone', platform: 'iPhone', network: '192.0.2.9' },
        numbers: [17, 42, 88],
      },
    },
  },
  confirmLink: {
    description:
      'The right number signs the phone in; any other ends the link. What needs a fresh proof asks the phone for one. 404 ' +
      'while no phone waits.',
    example: { params: { id: samples.link }, body: { number: 42 }, response: { confirmed: true } },
  },
} satisfies Docs<typeof meRoutes>;
