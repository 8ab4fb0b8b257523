import type { health } from '../health.ts';
import type { Docs } from './docs.ts';

/** Descriptions and examples of the probes. */
export const healthDocs = {
  live: {
    description:
      'Answers for as long as the process can, and lists the features that it serves and its version. It says nothing about the ' +
      'database: whether requests can be answered is what `/health/ready` tells.',
    example: { response: { ok: true, features: ['health', 'keys', 'devices', 'hosts'], version: '0.1.0' } },
  },
  ready: {
    description:
      'Meant for monitors. When a check fails, the answer is 503 with this same record, whose `checks` name the reason, ' +
      'and not the error envelope: `registry` stands for the file of providers, `worker`, in processes of their own, for ' +
      'what is due by the clock; it fails after 40 s without a worker. Requests are served meanwhile, so a load balancer ' +
      'asks `/health`; `s1` is reserved, and its mode `off`.',
    example: {
      response: {
        ok: true,
        checks: { db: { ok: true }, schema: { ok: true }, registry: { ok: true } },
        s1: { mode: 'off', ok: true, ms: 0 },
      },
    },
  },
  status: {
    description:
      'Providers are probed in the background once a minute; one that was never probed counts as healthy. `ok` is false ' +
      'when the file of providers cannot be read, and the list is then empty.',
    example: {
      response: {
        ok: true,
        aliases: ['svc', 'svc-fast', 'svc-embed'],
        providers: [{ id: 'main', kind: 'openai', label: 'Main provider', healthy: true }],
      },
    },
  },
} satisfies Docs<typeof health>;
