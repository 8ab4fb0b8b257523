import type { AdapterPayload, ClientMetadata } from 'oidc-provider';
import type { Config } from '../../../config.ts';
import type { ConnectionRow } from '../../connections/index.ts';
import { alike } from '../../../kernel/base/spellings.ts';

/** The web hub, which signs people in. */
export const hubClient = 'svc-hub';
/** `svc login`. */
const cliClient = 'svc-cli';

/** Scopes that the tools of the Model Context Protocol ask for. */
export const mcpScopes = ['mcp', 'sandboxes', 'prompts:read', 'environments:read'];

/** Whether a token for these tools may have a scope: one of them, or its part that only reads. */
export const isOfMcp = (scope: string): boolean =>
  mcpScopes.includes(scope) || mcpScopes.includes(scope.replace(/:read$/, ''));

/** Who says what an app is, by its id. */
export function trustOf(clientId: string, isRegistered: boolean): ConnectionRow['trust'] {
  if (clientId === hubClient || clientId === cliClient) return 'first-party';
  if (isRegistered) return 'registered';
  return clientId.startsWith('https://') ? 'document' : 'unknown';
}

/** What an app calls itself, as pages and mails show it: without signs that are not seen or turn the text around. */
export const nameOfApp = (name: string): string =>
  name
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, 120)
    .toWellFormed() || 'Unnamed app';

/** The apps of this product. */
export function ownClients({ hubUrl }: Pick<Config, 'hubUrl'>): ClientMetadata[] {
  return [
    {
      client_id: hubClient,
      client_name: 'svc',
      redirect_uris: alike(hubUrl).map((hub) => `${hub}/callback`),
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
      // A login is as fresh as the proof behind it.
      require_auth_time: true,
    },
    {
      client_id: cliClient,
      client_name: 'svc command line',
      // A loopback address may have any port (RFC 8252, 7.3).
      redirect_uris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ];
}

/** An app of the operator in the provider's words. */
export const registeredClient = (row: {
  id: string;
  name: string;
  redirect_uris: string[];
  native: boolean;
}): AdapterPayload => ({
  client_id: row.id,
  client_name: row.name,
  redirect_uris: row.redirect_uris,
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  application_type: row.native ? 'native' : 'web',
});
