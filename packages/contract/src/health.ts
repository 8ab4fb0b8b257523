import { z } from 'zod';
import { json, route } from './route.ts';

const check = z.object({ ok: z.boolean(), error: z.string().optional() });

/** Readiness record; a 503 carries the same record, not the error envelope (design: kernel, health). */
const readiness = z
  .object({
    ok: z.boolean(),
    checks: z.object({
      db: check,
      schema: check,
      registry: check,
      worker: check.optional().describe('Where work that is due by the clock is done by another process, or stands'),
      relay: check.optional().describe('Of gateways, where the platform has had a relay of its own within a day'),
      sandboxes: check.optional().describe('Of gateways, where the platform has had a sandbox node within a day'),
    }),
    s1: z.object({ mode: z.string(), ok: z.boolean(), ms: z.int(), error: z.string().optional() }),
  })
  .meta({ id: 'Readiness' });

/** Health probes at the root (document 1, Health). */
export const health = {
  live: route({
    method: 'GET',
    path: '/health',
    at: 'everywhere',
    summary: 'Liveness; never touches the database',
    auth: 'open',
    answers: json(
      z.object({
        ok: z.boolean(),
        features: z.array(z.string()),
        version: z.string().describe('Of the platform, as `x-svc-version` of every answer'),
      }),
    ),
  }),
  ready: route({
    method: 'GET',
    path: '/health/ready',
    at: 'everywhere',
    summary: 'Readiness: runs the real key look-up and checks schema and registry',
    auth: 'open',
    answers: json(readiness).or(503, readiness),
  }),
  status: route({
    method: 'GET',
    path: '/status',
    summary: 'Model aliases and providers with their last known health',
    auth: 'open',
    answers: json(
      z.object({
        ok: z.boolean(),
        aliases: z.array(z.string()),
        providers: z.array(z.object({ id: z.string(), kind: z.string(), label: z.string(), healthy: z.boolean() })),
        message: z.string().optional().describe('What to do when there is no provider'),
      }),
    ),
  }),
};
