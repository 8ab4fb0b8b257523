import { z } from 'zod';
import { dateTime, limit, nextCursor, numberCursor } from './fields.ts';
import { json, route } from './route.ts';

/** An entry of the ledger (additive). */
export const walletEntry = z
  .object({
    id: z.string(),
    at: dateTime,
    amount_micro_eur: z.int().describe('Below 0: taken'),
    kind: z.string().describe('`credit`, `sandbox_charge`, `environment_charge`; more may come'),
    note: z.string(),
  })
  .meta({ id: 'WalletEntry' });

/** The prepaid balance of the account (additive). 1,000,000 micro-euro are one euro. */
export const wallet = {
  get: route({
    method: 'GET',
    path: '/v1/wallet',
    summary: "The account's prepaid balance",
    auth: 'key',
    answers: json(
      z
        .object({
          balance_micro_eur: z.int(),
          unpaid_micro_eur: z.int().describe('Use that the balance did not cover'),
          billing: z.boolean().describe('Whether this installation charges for anything'),
        })
        .meta({ id: 'Wallet' }),
    ),
  }),
  entries: route({
    method: 'GET',
    path: '/v1/wallet/entries',
    summary: 'What came into the wallet and what was taken, newest first',
    auth: 'key',
    query: z.object({ limit: limit(200, 50), cursor: numberCursor }),
    answers: json(z.object({ entries: z.array(walletEntry), ...nextCursor })),
  }),
};
