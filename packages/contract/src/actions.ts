import { z } from 'zod';
import { actionIds, isAllowedAction } from './actions.list.ts';

/** A button beside a notification, or an item of the overview: what to send when it is pressed (design: hub, additive). */
export const action = z
  .object({
    id: z.enum(actionIds).describe('Says what it does; `open` sends nothing and leads to a page'),
    method: z.enum(['GET', 'POST', 'PATCH']),
    path: z.string().describe('Of the API; for `open` of a page below `{hub_url}`'),
    body: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
    reauth: z.boolean().optional().describe('Signed-in people must have proved who they are within 10 minutes'),
  })
  .refine(isAllowedAction, 'must be an act of the list')
  .meta({ id: 'Action' });
