import { z } from 'zod';
import type { ErrorKind } from './errors.ts';
import { dateTime, emailAddress, jsonObject, resettable, text, timeZone, uuid } from './fields.ts';
import { json, route, toolLevels } from './route.ts';
import { freshSeconds, gives } from './strength.ts';

/** Codes of one's own account. */
export const meErrors = {
  reauth_failed: { status: 403, type: 'permission_error' },
  last_way_in: { status: 409, type: 'conflict_error' },
} as const satisfies Record<string, ErrorKind>;

/** Who calls, and their account. */
export const me = z
  .object({
    account: z.object({
      id: uuid,
      email: z.string(),
      email_verified: z.boolean(),
      name: z.string(),
      locale: z.enum(['en', 'ro']).optional().describe("Language of pages and mails; absent: the browser's"),
      tz: z.string().optional().describe("IANA time zone; absent: the browser's"),
      created_at: dateTime,
    }),
    actor: z.object({
      kind: z.enum(['login', 'key']),
      id: uuid.describe('Of the signed-in browser, or of the key'),
      scopes: z.array(z.string()),
      tool_level: z.enum(toolLevels),
      auth_time: dateTime.optional().describe('When the person proved last who they are; absent with a key'),
    }),
    features: z.record(z.string(), z.boolean()),
    operator: z.boolean().describe('Runs this installation'),
    orgs: z.array(z.object({ id: uuid, name: z.string(), role: z.enum(['owner', 'admin', 'member']) })),
    sign_in: z.object({
      password: z.boolean().describe('A password is set'),
      passkeys: z.int(),
      recovery_codes_left: z.int(),
    }),
  })
  .meta({ id: 'Me' });

/** A passkey of the caller. */
export const passkey = z
  .object({
    id: uuid,
    name: z.string(),
    created_at: dateTime,
    last_used_at: dateTime.optional(),
    backed_up: z.boolean().describe('It is also elsewhere, such as in a cloud of its maker: it outlives the device'),
  })
  .meta({ id: 'Passkey' });

/** A signed-in browser of the caller. */
export const login = z
  .object({
    id: uuid,
    name: z.string(),
    platform: z.string(),
    created_at: dateTime,
    last_seen_at: dateTime,
    expires_at: dateTime.describe('When it ends if it is not used again'),
    network: z.string().describe('From where it signed in: an IPv4 address, or the /64 of an IPv6 address'),
    amr: z.array(z.string()).describe('How the person proved last who they are (RFC 8176)'),
    current: z.boolean().describe('It makes this request'),
  })
  .meta({ id: 'Login' });

/** A device that took a link to be signed in. */
const phone = z.object({ name: z.string(), platform: z.string(), network: z.string() });

const freshWithin = freshSeconds;
const params = z.object({ id: uuid });
/** What the browser's WebAuthn gives, as JSON: a passkey has 4 kB. */
const credential = jsonObject(32_000).describe('`PublicKeyCredential.toJSON()` of the browser');
/** Options for the browser's WebAuthn. */
const options = z.record(z.string(), z.unknown()).describe('For `PublicKeyCredential.parse…OptionsFromJSON()`');

const deleted = json(z.object({ deleted: z.literal(true), id: uuid }));

/** The account of who is signed in, and how they sign in (additive). All but `get` take no key: 403 `sign_in_required`. */
export const meRoutes = {
  get: route({
    method: 'GET',
    path: '/v1/me',
    summary: 'Who calls, with which rights, and their account',
    auth: 'key',
    scopes: [],
    answers: json(me),
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/me',
    summary: "Change one's name, e-mail address, language or time zone",
    auth: 'key',
    only: 'login',
    takes: json(
      z
        .object({
          name: resettable(text(120)),
          email: emailAddress.optional(),
          locale: resettable(z.enum(['en', 'ro'])),
          tz: resettable(timeZone),
        })
        .refine((body) => Object.values(body).some((value) => value !== undefined), 'at least one field is required'),
    ),
    answers: json(me),
    errors: ['email_taken', 'reauth_required'],
  }),
  remove: route({
    method: 'DELETE',
    path: '/v1/me',
    summary: "Delete one's account with everything in it, for good",
    auth: 'key',
    only: 'login',
    freshWithin,
    answers: deleted,
    errors: ['last_operator', 'last_owner'],
  }),
  reauthOptions: route({
    method: 'POST',
    path: '/v1/me/reauth/options',
    summary: 'What a browser needs to ask for a passkey of the caller',
    auth: 'key',
    only: 'login',
    notIdempotent: 'each time another challenge, which counts for one answer within five minutes',
    answers: json(options),
  }),
  reauth: route({
    method: 'POST',
    path: '/v1/me/reauth',
    summary: 'Prove anew who one is, by password or passkey',
    auth: 'key',
    only: 'login',
    notIdempotent: 'a try is a try: a passkey answers once, and wrong passwords are counted',
    takes: json(
      z
        .object({ password: text(1_000).min(1).optional(), passkey: credential.optional() })
        .refine(
          ({ password, passkey: key }) => (password === undefined) !== (key === undefined),
          'password or passkey is required, and not both',
        ),
    ),
    answers: json(z.object({ auth_time: dateTime })),
    errors: ['reauth_failed'],
  }),
  setPassword: route({
    method: 'PUT',
    path: '/v1/me/password',
    summary: "Set one's password, or another one",
    auth: 'key',
    only: 'login',
    ...gives('keys'),
    takes: json(z.object({ password: text(1_000).min(1) })),
    answers: json(z.object({ changed: z.literal(true) })),
  }),
  removePassword: route({
    method: 'DELETE',
    path: '/v1/me/password',
    summary: "Remove one's password, so that passkeys alone sign in",
    auth: 'key',
    only: 'login',
    freshWithin,
    answers: json(z.object({ deleted: z.literal(true) })),
    errors: ['last_way_in'],
  }),
  listPasskeys: route({
    method: 'GET',
    path: '/v1/me/passkeys',
    summary: "One's passkeys, oldest first; 20 at most",
    auth: 'key',
    only: 'login',
    answers: json(z.object({ passkeys: z.array(passkey) })),
  }),
  passkeyOptions: route({
    method: 'POST',
    path: '/v1/me/passkeys/options',
    summary: 'What a browser needs to make a passkey for the caller',
    auth: 'key',
    only: 'login',
    freshWithin,
    notIdempotent: 'each time another challenge, which counts for one answer within five minutes',
    answers: json(options),
  }),
  addPasskey: route({
    method: 'POST',
    path: '/v1/me/passkeys',
    summary: 'Keep a passkey that the browser made',
    auth: 'key',
    only: 'login',
    ...gives('keys'),
    notIdempotent: 'the answer of a browser counts once',
    takes: json(z.object({ passkey: credential, name: text(120).min(1).default('Passkey') })),
    answers: json(passkey, 201),
  }),
  updatePasskey: route({
    method: 'PATCH',
    path: '/v1/me/passkeys/{id}',
    summary: 'Rename a passkey',
    auth: 'key',
    only: 'login',
    params,
    takes: json(z.object({ name: text(120).min(1) })),
    answers: json(passkey),
  }),
  removePasskey: route({
    method: 'DELETE',
    path: '/v1/me/passkeys/{id}',
    summary: 'Remove a passkey: it signs nobody in any more',
    auth: 'key',
    only: 'login',
    freshWithin,
    params,
    answers: deleted,
    errors: ['last_way_in'],
  }),
  makeRecoveryCodes: route({
    method: 'POST',
    path: '/v1/me/recovery-codes',
    summary: 'Make ten recovery codes in the place of all that there were',
    auth: 'key',
    only: 'login',
    ...gives('keys'),
    idempotent: true,
    shownOnce: true,
    answers: json(z.object({ codes: z.array(z.string()).describe('They are in this answer only') })),
  }),
  listLogins: route({
    method: 'GET',
    path: '/v1/me/logins',
    summary: "One's signed-in browsers, the one used last first; 50 at most",
    auth: 'key',
    only: 'login',
    answers: json(z.object({ logins: z.array(login) })),
  }),
  endLogin: route({
    method: 'DELETE',
    path: '/v1/me/logins/{id}',
    summary: 'Sign a browser out, at once on every gateway',
    auth: 'key',
    only: 'login',
    params,
    answers: deleted,
  }),
  endLogins: route({
    method: 'DELETE',
    path: '/v1/me/logins',
    summary: 'Sign out everywhere else',
    auth: 'key',
    only: 'login',
    answers: json(z.object({ ended: z.int().describe('Signed-in browsers that are no more') })),
  }),
  createLink: route({
    method: 'POST',
    path: '/v1/me/links',
    summary: 'Make a link that signs a phone in, for five minutes',
    auth: 'key',
    only: 'login',
    idempotent: true,
    shownOnce: true,
    answers: json(
      z.object({
        id: uuid,
        url: z.string().describe('For a QR code; it is in this answer only'),
        code: z.string().describe('The same as eight letters to type'),
        expires_at: dateTime,
      }),
      201,
    ),
  }),
  getLink: route({
    method: 'GET',
    path: '/v1/me/links/{id}',
    summary: 'How far a phone is that is to be signed in',
    auth: 'key',
    only: 'login',
    params,
    answers: json(
      z.object({
        state: z
          .enum(['open', 'claimed', 'confirmed', 'used'])
          .describe('No phone took it; one did; the right number was picked; the phone is signed in'),
        expires_at: dateTime,
        phone: phone.optional(),
        numbers: z.array(z.int()).optional().describe('Three, of which the phone shows one; while it is `claimed`'),
      }),
    ),
  }),
  confirmLink: route({
    method: 'POST',
    path: '/v1/me/links/{id}/confirm',
    summary: 'Pick the number that the phone shows',
    auth: 'key',
    only: 'login',
    notIdempotent: 'a link takes one number',
    params,
    takes: json(z.object({ number: z.int().min(10).max(99) })),
    answers: json(z.object({ confirmed: z.boolean().describe('false: it was another one, and the link is ended') })),
  }),
};
