import type { AdapterPayload } from 'oidc-provider';
import { randomBytes } from 'node:crypto';
import { ApiError } from '../../../kernel/base/errors.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import { recordOf } from '../provider/adapter.ts';
import { makeRoomForClient } from '../provider/clients.sql.ts';
import { writeRecord } from '../provider/records.sql.ts';
import { kindOfRedirect } from '../provider/redirects.ts';
import type { FlowParts } from './parts.ts';
import type { PageVisit } from './visit.ts';

/** Apps that one network may register in an hour: those that nobody let in, and all. A household starts several clients anew. */
const mostRecent = { unused: 30, all: 120 };
/** Apps that may wait to be let in. */
const mostUnused = 1_000;
const mostUris = 10;

/** A refusal in the words of RFC 7591. */
class Refused extends Error {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(error: Refused['error'], message: string) {
    super(message);
    this.error = error;
  }
}

/**
 * An app registers itself (RFC 7591), as older clients of the Model Context Protocol do. Nobody vouches for it: it is public,
 * it is shown as unknown, and what nobody let in within a day is forgotten.
 */
export async function register(visit: PageVisit, { kernel, identity }: FlowParts): Promise<void> {
  const { response, network } = visit;
  response.setHeader('access-control-allow-origin', '*');
  if (visit.method === 'OPTIONS') {
    response.setHeader('access-control-allow-methods', 'POST');
    response.setHeader('access-control-allow-headers', 'content-type, mcp-protocol-version');
    return void response.writeHead(204).end();
  }
  if (visit.method !== 'POST') throw new ApiError('not_found', 'register with POST');
  const asked = await visit.jsonBody();
  const { provider } = await identity.open();
  try {
    const metadata = metadataOf(asked);
    const Client = provider.Client as unknown as new (
      of: object,
    ) => {
      clientId: string;
      metadata(): AdapterPayload;
    };
    const client = new Client({ ...metadata, client_id: randomBytes(24).toString('base64url') });
    await keep(kernel, client.clientId, client.metadata(), network);
    visit.json(201, { ...client.metadata(), client_id_issued_at: Math.floor(kernel.clock.now() / 1000) });
  } catch (error) {
    const { error: code, error_description: said } = error as { error?: string; error_description?: string };
    if (error instanceof Refused) return visit.json(400, { error: error.error, error_description: error.message });
    if (code === undefined) throw error;
    visit.json(400, { error: code, error_description: said ?? '' });
  }
}

/** Writes an app down. Throws 429 for one too many of its network in an hour; of all others the largest crowd makes room. */
async function keep(kernel: FlowParts['kernel'], id: string, metadata: AdapterPayload, network: string): Promise<void> {
  const record = recordOf(kernel, 'Client', { id, payload: metadata, expiresIn: unusedSeconds, network });
  await inTransaction(kernel.sql, async (tx) => {
    const { all, unused } = await makeRoomForClient(tx, network, mostUnused);
    if (unused >= mostRecent.unused || all >= mostRecent.all)
      throw new ApiError('rate_limit_exceeded', 'too many apps of this network registered; try again later', {
        headers: { 'retry-after': '3600' },
      });
    await writeRecord(tx, record);
  });
}

/** What was registered and let in by nobody is forgotten after a day. */
const unusedSeconds = 86_400;

/** The fields that count of what an app says; the others are ours. */
function metadataOf(asked: Record<string, unknown>): object {
  const uris = asked['redirect_uris'];
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > mostUris)
    throw new Refused('invalid_redirect_uri', `redirect_uris: 1 to ${mostUris} addresses`);
  const kinds = uris.map(kindOf);
  return {
    client_name: textOf(asked, 'client_name') ?? 'Unnamed app',
    redirect_uris: uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: kinds.includes('native') || asked['application_type'] === 'native' ? 'native' : 'web',
  };
}

function textOf(asked: Record<string, unknown>, name: string): string | undefined {
  const value = asked[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' || value.length > 120 || value.includes('\0'))
    throw new Refused('invalid_client_metadata', `${name}: a text of 120 characters at most, without NUL`);
  return value;
}

function kindOf(uri: unknown): 'web' | 'native' {
  const kind = kindOfRedirect(uri);
  if (typeof kind === 'object') throw new Refused('invalid_redirect_uri', kind.fault);
  return kind;
}
