import { z } from 'zod';
import { dateTime, route, uuid } from './route.ts';
import { onSandboxes, ttlSeconds } from './sandboxes.shapes.ts';

/** Signed addresses of ports inside sandboxes (document 3, Preview). */
export const previews = {
  create: route({
    ...onSandboxes,
    method: 'POST',
    path: '/v1/sandboxes/{id}/preview',
    summary: 'An address that forwards HTTP and WebSocket to a port inside, for whoever has it',
    params: z.object({ id: uuid }),
    body: z.object({
      port: z
        .int()
        .min(1024)
        .max(65_535)
        .refine((port) => port !== 8080, 'must not be 8080'),
      ttl_seconds: ttlSeconds(60, 3600).default(900),
    }),
    responses: { 200: z.object({ port: z.int(), url: z.string(), expires_at: dateTime }) },
    errors: ['sandbox_not_running', 'sandbox_capacity', 'invalid_ttl'],
  }),
};
