import type { relay } from '../relay.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const byId = { id: samples.environment };

/** Descriptions and examples of the relay. */
export const relayDocs = {
  status: {
    description:
      'Any relay of the installation answers it; `instance` says which one has the connection. `usable` is true only while ' +
      'commands run there. Of a machine that is away it tells what it reported last.',
    example: {
      params: byId,
      response: {
        environment_id: samples.environment,
        online: false,
        usable: false,
        usable_since: null,
        instance: null,
        last_heartbeat: null,
        activity: null,
        ports: [],
        git_state: null,
        daemon: null,
        streams: 0,
        attached: [],
        locks: [],
        clients: 0,
      },
    },
  },
  serve: {
    description:
      'Daemons alone use it, with the key and the `x-svc-device` of the machine that was enrolled. The relay asks for ' +
      'ports, terminals and reports over it. 404: the environment was put aside or destroyed; enrol the machine again.',
    example: { params: byId, response: undefined },
  },
  attach: {
    description:
      'Binary messages are bytes, both ways. A terminal takes `{"resize":{"cols":80,"rows":24}}` as text besides, and tells ' +
      '`{"exit_code":0}` at its end. 409 `daemon_offline`: the machine is away; 403: your role, or its policy.',
    example: {
      params: byId,
      query: { kind: 'port', port: 3_000 },
      headers: { 'x-svc-client': samples.rid },
      response: undefined,
    },
  },
  join: {
    description: 'Relays use it among themselves, with a signature that is good for 30 s. A client has no use for it.',
    example: {
      params: byId,
      query: { kind: 'port', port: 3_000 },
      headers: { 'x-svc-relay-peer': 'EXAMPLE' },
      response: undefined,
    },
  },
} satisfies Docs<typeof relay>;
