import type { account, accounts } from '../accounts.ts';
import type { z } from 'zod';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const ioana: z.output<typeof account> = {
  id: samples.person,
  email: samples.personEmail,
  name: 'Ioana',
  operator: false,
  suspended: false,
  subscription: 'active',
  tool_level: 'l0',
  created_at: '2026-11-02T08:15:00.000Z',
};

/** Descriptions and examples of the routes of accounts. */
export const accountsDocs = {
  list: {
    description:
      'For operators: to every other account the answer is 404. Accounts that are being deleted are left out. Without ' +
      '`limit` the first 1,000 come; `next_cursor` asks for the next page.',
    example: { query: { limit: 1_000 }, response: { accounts: [ioana] } },
  },
  create: {
    description:
      'Hand `url` to the person, who chooses a password or passkey with it; when mail is set, they get it by mail too. ' +
      'A signed-in operator must have proved who they are within 10 minutes: else 403 `reauth_required`. An address that ' +
      'another account has is 409 `email_taken`, unless that one set it by itself and never proved it: then it loses it and is told.',
    example: {
      body: { email: samples.newEmail, name: 'Radu' },
      response: {
        account: { ...ioana, id: samples.account, email: samples.newEmail, name: 'Radu' },
        url: 'https://svc.example.com/auth/link#EXAMPLE-link-token-EXAMPLE-link-token-00000',
      },
    },
  },
  get: {
    description: 'For operators: to every other account the answer is 404, as for an account that is not there.',
    example: { params: { id: samples.person }, response: ioana },
  },
  update: {
    description:
      'A suspended account is refused everywhere at once, and within seconds nothing of it runs; of a lower `tool_level` ' +
      'its keys learn only if they were made without one. The last operator stays ' +
      'one, and cannot be suspended: 409 `last_operator`. No operator suspends their own account: 403 `forbidden`.',
    example: {
      params: { id: samples.person },
      body: { suspended: true },
      response: { ...ioana, suspended: true },
    },
  },
  link: {
    description:
      'For somebody who has no way to sign in yet, or lost it; the second kind signs out every other browser when it is ' +
      'used. Hand it to the person by a way that you trust: whoever opens it first has the account.',
    example: {
      params: { id: samples.person },
      response: { url: 'https://svc.example.com/auth/link#EXAMPLE-link-token-EXAMPLE-link-token-00000' },
    },
  },
  signOut: {
    description:
      'The answer comes once every live gateway refuses them, and their open streams end. API keys and connected apps of ' +
      'the account go on.',
    example: { params: { id: samples.person }, response: { ended: 2 } },
  },
} satisfies Docs<typeof accounts>;
