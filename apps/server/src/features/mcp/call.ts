import { randomUUID } from 'node:crypto';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { contract } from '@svc/contract';
import type { Context } from '../../kernel/http/context.ts';
import { ApiError, badRequest } from '../../kernel/base/errors.ts';
import { rateLimitExceeded, requestsOf } from '../../kernel/share/limits.ts';
import { hasScope } from '../../kernel/mount/access.ts';
import { insufficientScope, metadataUrl } from '../../kernel/mount/challenge.ts';
import { operation, type Operation } from '../../kernel/feature.ts';
import { type Cancellations, messagesOf } from './mcp.cancel.ts';

/** Of one request: each is answered by a server of its own turn on the gateway's thread. */
const mostMessages = 10;

/** Answers a message; pages of other origins are refused, as they could speak for the person who views them. */
export const call = (
  handler: () => Promise<McpHttpHandler>,
  cancellations: Cancellations,
  wanted: ScopesOfTool,
): Operation =>
  operation(contract.mcp.call, async (context, { body }) => {
    checkOrigin(context);
    if (Array.isArray(body) && body.length > mostMessages) {
      throw badRequest(`a list holds ${mostMessages} messages at most; send the others by themselves`);
    }
    const messages = messagesOf(body);
    if (context.actor.kind === 'token') checkScopes(context, messages, wanted);
    await takeRate(context, messages.length - 1);
    const session = context.headers['mcp-session-id'];
    const running = cancellations.begin(context, session, messages);
    try {
      const { fetch } = await handler();
      const answer = await fetch(requestOf(context, body), { authInfo: authOf(context), parsedBody: body });
      const relay = context.openRelay();
      const headers = Object.fromEntries(answer.headers);
      // It keeps apart the requests of clients that share a key; nothing is kept of it.
      if (messages.some(({ method }) => method === 'initialize')) headers['mcp-session-id'] ??= randomUUID();
      relay.open(answer.status, headers);
      if (answer.body) for await (const chunk of answer.body) await relay.write(Buffer.from(chunk));
      relay.end();
    } finally {
      running.end();
    }
  });

/** The scopes of which a tool needs one; undefined for a tool that there is not. */
type ScopesOfTool = (name: string, input: Record<string, unknown>) => readonly string[] | undefined;

/**
 * A tool that an app's token has no scope for is refused before anything runs, so that the app can ask the person for more. A
 * key's owner reads the same in the answer of the tool.
 */
function checkScopes(
  { actor, kernel, headers }: Context,
  messages: ReturnType<typeof messagesOf>,
  wanted: ScopesOfTool,
): void {
  for (const { method, params } of messages) {
    if (method !== 'tools/call') continue;
    const { name, arguments: input } = (params ?? {}) as { name?: unknown; arguments?: Record<string, unknown> };
    const scopes = wanted(String(name), input ?? {});
    if (scopes && !hasScope(actor.scopes, scopes))
      throw insufficientScope(actor, scopes, metadataUrl(kernel.config, headers));
  }
}

function requestOf({ headers: given, kernel, signal }: Context, body: unknown): Request {
  const headers = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name']) {
    const value = given[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  return new Request(`${kernel.config.baseUrl}/mcp`, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

const authOf = (context: Context) => ({
  token: '',
  clientId: context.actor.credentialId,
  scopes: [...context.actor.scopes],
  extra: { context },
});

/** A list of messages counts as so many requests; its first one is counted already. */
async function takeRate({ kernel, actor }: Context, more: number): Promise<void> {
  const limit = requestsOf(kernel.config.rates);
  for (let taken = 0; taken < more; taken += 1) {
    const state = await kernel.limiter.take(limit, actor.credentialId);
    if (!state.allowed) throw rateLimitExceeded(limit.name, state);
  }
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A platform that is reached on this machine alone takes pages of this machine, whatever their port. */
function checkOrigin({ headers, kernel }: Context): void {
  const { origin } = headers;
  const own = new URL(kernel.config.baseUrl);
  if (origin === undefined || origin === own.origin) return;
  const isHere = loopback.has(own.hostname) && URL.canParse(origin) && loopback.has(new URL(origin).hostname);
  if (isHere) return;
  throw new ApiError('forbidden', 'a page of another origin may not speak the Model Context Protocol here');
}
