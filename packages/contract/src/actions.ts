import { z } from 'zod';
import { actionIds } from './actions.list.ts';

/** A call that a button makes. */
export const action = z
  .object({
    id: z.enum(actionIds),
    method: z.enum(['GET', 'POST', 'PATCH']),
    path: z.string(),
    body: z.record(z.string(), z.unknown()).optional(),
    reauth: z.boolean().optional(),
  })
  .meta({ id: 'Action' });
