/**
 * What clients of the Model Context Protocol send to connect, written down from what their makers and users published: protocol
 * steps as data, no code of theirs. `source` says where, and when it was looked at.
 */
export interface ConnectingClient {
  readonly name: string;
  readonly source: string;
  /** How it makes itself known: a document at this path of its own host (which may name keys of its own), or RFC 7591. */
  readonly known:
    | { readonly by: 'document'; readonly path: string; readonly hasKeys?: boolean }
    | { readonly by: 'registration'; readonly body: Readonly<Record<string, unknown>> };
  /** Where it may be answered, and where it is in one sign-in: the port of a program on the person's machine is any. */
  readonly redirectUris: readonly string[];
  readonly redirectAt: (port: number) => string;
  /** Requests to `/mcp` before it signs in; each is answered 401 with a challenge. */
  readonly looks: readonly ('HEAD' | 'GET' | 'POST')[];
  /** Where it reads of the resource: the address of the challenge (parsed, or cut out), or well-known paths in this order. */
  readonly resourceFrom: 'challenge' | 'challenge cut out' | readonly string[];
  /** Where it reads of the identity provider, in this order until one is 200: `{issuer}` and its path are put in. */
  readonly providerFrom: readonly string[];
  /** The scopes that it asks for. */
  readonly asks: 'of the resource' | 'of the provider and the resource' | 'of the provider' | 'nothing';
  /** Whether it adds `offline_access`. */
  readonly offline: boolean;
  readonly prompt?: 'consent';
  /** The steps at which it names the resource (RFC 8707). */
  readonly namesResource: readonly ('authorize' | 'exchange' | 'refresh')[];
  /** What it says at a refresh: all that it asked for, or nothing. */
  readonly scopeAtRefresh: boolean;
  readonly refreshes: 'when refused' | 'before the end';
  /** Five sessions of it on one machine have one store of tokens, or each its own. */
  readonly store: 'shared' | 'own';
}

const ofResource = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'];
/** The order of the protocol of 2025-11-25: RFC 8414 with the path inserted, then OpenID inserted, then appended. */
const inOrder = [
  '/.well-known/oauth-authorization-server{path}',
  '/.well-known/openid-configuration{path}',
  '{path}/.well-known/openid-configuration',
];
const always = ['authorize', 'exchange', 'refresh'] as const;
const publicApp = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

export const connectingClients: readonly ConnectingClient[] = [
  {
    name: 'Claude Code',
    source: 'github.com/anthropics/claude-code issues 85236, 74250, 91641; November 2026',
    known: { by: 'document', path: '/oauth/claude-code-client-metadata' },
    redirectUris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    redirectAt: (port) => `http://localhost:${port}/callback`,
    looks: ['POST'],
    resourceFrom: 'challenge',
    providerFrom: inOrder,
    asks: 'of the resource',
    offline: true,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'before the end',
    store: 'shared',
  },
  {
    name: 'Claude',
    source: 'docs of custom connectors (client documents, HEAD before anything); November 2026',
    known: { by: 'document', path: '/oauth/mcp-oauth-client-metadata' },
    redirectUris: ['https://claude.example.test/api/mcp/auth_callback'],
    redirectAt: () => 'https://claude.example.test/api/mcp/auth_callback',
    looks: ['HEAD', 'POST'],
    resourceFrom: 'challenge',
    providerFrom: inOrder,
    asks: 'of the resource',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'shared',
  },
  {
    name: 'ChatGPT',
    source: 'Apps SDK, authentication (client documents with private_key_jwt); November 2026',
    known: { by: 'document', path: '/oauth/client.json', hasKeys: true },
    redirectUris: ['https://chatgpt.example.test/connector/oauth/callback'],
    redirectAt: () => 'https://chatgpt.example.test/connector/oauth/callback',
    looks: ['GET', 'POST'],
    resourceFrom: ofResource,
    providerFrom: ['/.well-known/oauth-authorization-server{path}'],
    asks: 'of the resource',
    offline: true,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'shared',
  },
  {
    name: 'VS Code',
    source: 'docs of its MCP developer guide (loopback 33418, vscode.dev); November 2026',
    known: { by: 'document', path: '/oauth/client-metadata.json' },
    redirectUris: ['http://127.0.0.1:33418/', 'https://vscode.example.test/redirect'],
    redirectAt: (port) => `http://127.0.0.1:${port}/`,
    looks: ['POST'],
    resourceFrom: 'challenge cut out',
    providerFrom: inOrder,
    asks: 'of the resource',
    offline: true,
    prompt: 'consent',
    namesResource: always,
    scopeAtRefresh: true,
    refreshes: 'when refused',
    store: 'shared',
  },
  {
    name: 'Codex',
    source: 'github.com/openai/codex issues 33403 (no resource at a refresh), 35253 and 15643 (scopes); November 2026',
    known: { by: 'document', path: '/oauth/codex/client.json' },
    redirectUris: ['http://127.0.0.1/callback'],
    redirectAt: (port) => `http://127.0.0.1:${port}/callback`,
    looks: ['GET'],
    resourceFrom: ofResource,
    providerFrom: ['/.well-known/oauth-authorization-server{path}'],
    asks: 'of the provider and the resource',
    offline: false,
    namesResource: ['authorize', 'exchange'],
    scopeAtRefresh: true,
    refreshes: 'before the end',
    store: 'shared',
  },
  {
    name: 'Cursor',
    source: 'its registration (three addresses of three kinds), forum threads; November 2026',
    known: {
      by: 'registration',
      body: { client_name: 'Cursor', ...publicApp, token_endpoint_auth_method: 'client_secret_post' },
    },
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.example.test/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    redirectAt: () => 'cursor://anysphere.cursor-mcp/oauth/callback',
    looks: ['POST'],
    resourceFrom: 'challenge',
    providerFrom: inOrder,
    asks: 'of the resource',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'own',
  },
  {
    name: 'Zed',
    source: 'github.com/zed-industries/zed, context servers; November 2026',
    known: { by: 'registration', body: { client_name: 'Zed', ...publicApp } },
    redirectUris: ['http://127.0.0.1/callback'],
    redirectAt: (port) => `http://127.0.0.1:${port}/callback`,
    looks: ['POST'],
    resourceFrom: ofResource,
    providerFrom: inOrder,
    asks: 'of the resource',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'before the end',
    store: 'shared',
  },
  {
    name: 'opencode',
    source: 'github.com/sst/opencode, docs of MCP servers (OAuth); November 2026',
    known: { by: 'registration', body: { client_name: 'OpenCode', client_uri: 'https://opencode.ai', ...publicApp } },
    redirectUris: ['http://127.0.0.1:19876/mcp/oauth/callback'],
    redirectAt: () => 'http://127.0.0.1:19876/mcp/oauth/callback',
    looks: ['POST'],
    resourceFrom: 'challenge',
    providerFrom: inOrder,
    asks: 'nothing',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'own',
  },
  {
    name: 'Cline',
    source: 'github.com/cline/cline, MCP servers; November 2026',
    known: { by: 'registration', body: { client_name: 'Cline', ...publicApp } },
    redirectUris: ['vscode://saoudrizwan.claude-dev/mcp-auth/callback/3f2a'],
    redirectAt: () => 'vscode://saoudrizwan.claude-dev/mcp-auth/callback/3f2a',
    looks: ['GET', 'POST'],
    resourceFrom: ofResource,
    providerFrom: inOrder,
    asks: 'of the provider',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'own',
  },
  {
    name: 'Continue',
    source: 'github.com/continuedev/continue, its connections to servers (discovery at the origin); November 2026',
    known: {
      by: 'registration',
      body: { client_name: 'Continue', redirect_uris: [], token_endpoint_auth_method: 'none' },
    },
    redirectUris: ['http://localhost:3000/'],
    redirectAt: () => 'http://localhost:3000/',
    looks: ['POST'],
    resourceFrom: ofResource,
    providerFrom: ['/.well-known/oauth-authorization-server'],
    asks: 'nothing',
    offline: false,
    namesResource: always,
    scopeAtRefresh: false,
    refreshes: 'when refused',
    store: 'own',
  },
  {
    name: 'MCP Inspector',
    source: 'github.com/modelcontextprotocol/inspector (its addresses, scopes by hand); November 2026',
    known: {
      by: 'registration',
      body: { client_name: 'MCP Inspector', client_uri: 'https://github.com/modelcontextprotocol', ...publicApp },
    },
    redirectUris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
    redirectAt: () => 'http://localhost:6274/oauth/callback',
    looks: ['POST'],
    resourceFrom: ofResource,
    providerFrom: inOrder,
    asks: 'of the provider and the resource',
    offline: false,
    prompt: 'consent',
    namesResource: always,
    scopeAtRefresh: true,
    refreshes: 'when refused',
    store: 'own',
  },
];
