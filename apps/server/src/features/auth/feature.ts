import type { Actor } from '../../kernel/base/actor.ts';
import type { Feature, RawRoute } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { credentialsChanged } from '../../kernel/mount/access.ts';
import type { Connections } from '../connections/index.ts';
import type { KeyLookup } from '../keys/index.ts';
import type { Mail } from '@svc/words';
import type { SignIns } from '../accounts/index.ts';
import { PrivateMails } from '../notifications/index.ts';
import { loginActors } from './auth.actors.ts';
import { Identity } from './auth.identity.ts';
import { isResource } from './flows/resources.ts';
import { AuthServer } from './auth.serve.ts';
import { authManifest } from './index.ts';
import { signInsOf } from './auth.sign-ins.ts';
import type { Proofs } from './people/proofs.ts';
import { Guesses } from './people/guesses.ts';
import { PasswordHashing } from './people/hashing.ts';
import { findLapsedLogins } from './people/logins.ts';
import { createLoginLookup, type LoginLookup } from './people/logins.lookup.ts';
import type { LoginChange } from './people/parts.ts';
import { sweepPeople } from './people/sweep.ts';
import { rotateKeysJob, sweepRecordsJob } from './provider/jobs.ts';
import { deleteGrantsOf } from './provider/records.sql.ts';
import { actorOfToken } from './provider/tokens.ts';
import { basePath } from './provider/urls.ts';

/** People: how they prove who they are, the browsers that they are signed in with, and the provider that apps ask. */
export function authFeature(
  kernel: Kernel,
  { connections, lookup }: { connections: Connections; lookup: KeyLookup },
): Feature & {
  logins: LoginLookup;
  identity: Identity;
  proofs: Proofs;
  signIns: SignIns;
  server: AuthServer;
  authenticateLogin: ReturnType<typeof loginActors>;
  authenticateToken: (text: string, resource: 'api' | 'mcp') => Promise<Actor | undefined>;
} {
  const logins = createLoginLookup(kernel);
  const identity = new Identity(kernel, connections);
  const proofs: Proofs = { hashing: new PasswordHashing(), guesses: new Guesses(kernel) };
  const mails = new PrivateMails(kernel);
  const mail = kernel.config.mail && ((to: string, said: Mail) => mails.send(to, said));
  const server = new AuthServer({
    kernel,
    identity,
    connections,
    ...proofs,
    mail,
  });
  connections.onAdded((tx, { accountId, name: app, host }) =>
    identity.tell(tx, accountId, { type: 'connection.added', app, host }),
  );
  connections.onEnd((tx, { account_id: accountId, client_id: clientId }) => deleteGrantsOf(tx, accountId, clientId));
  return {
    ...authManifest,
    operations: {},
    jobs: [sweepPeople, sweepRecordsJob, rotateKeysJob],
    raw: rawRoutes(kernel, server),
    logins,
    identity,
    proofs,
    signIns: signInsOf(kernel, mail),
    server,
    authenticateLogin: loginActors(kernel, logins),
    authenticateToken: (text, resource) => actorOfToken({ kernel, connections, lookup }, text, resource),
    async start() {
      await identity.start();
      const unfollow = await followLogins(kernel, logins);
      return {
        stop: async () => {
          unfollow();
          mails.close();
        },
      };
    },
  };
}

/**
 * Forgets logins that changed, and ends the streams of those that ended while this process heard nothing: each minute
 * too, as a gateway that is killed says nothing of what it did last.
 */
async function followLogins({ gateways, streams, sql, clock, log }: Kernel, logins: LoginLookup): Promise<() => void> {
  const look = (): void => {
    // An API key is unknown here, and does not end with that.
    const open = streams.credentials().filter(({ kind }) => kind === 'login');
    if (open.length === 0) return;
    const ids = open.map(({ credentialId }) => credentialId);
    findLapsedLogins(sql, { clock }, ids)
      .then((lapsed) => {
        for (const one of open) if (lapsed.includes(one.credentialId)) streams.endOf(one);
      })
      .catch((err: unknown) => log.error({ err }, 'logins of open streams were not checked'));
  };
  gateways.onMissed(() => {
    logins.evict(null);
    look();
  });
  await gateways.onAnnounce(credentialsChanged, (payload) => logins.evict(payload as LoginChange));
  return clock.every(minuteMs, look);
}

const minuteMs = 60_000;

const metadata = ['oauth-authorization-server', 'openid-configuration'];

/** Everything below `{auth_url}`, and the documents by which clients find it, which stand at the root (RFC 8414, RFC 9728). */
function rawRoutes({ config }: Kernel, server: AuthServer): RawRoute[] {
  const base = basePath(config);
  const open: RawRoute['open'] = (exchange) => server.handle(exchange);
  if (base === '') return [{ prefix: '/', has: (rest) => server.has(`/${rest}`) || isResource(rest), open }];
  return [
    { prefix: `${base}/`, isPage: true, open },
    {
      prefix: '/.well-known/',
      has: (rest) =>
        isResource(`.well-known/${rest}`) || metadata.some((name) => rest === name || rest === name + base),
      open: (exchange) => server.handle({ ...exchange, rest: `.well-known/${exchange.rest.replace(base, '')}` }),
    },
  ];
}
