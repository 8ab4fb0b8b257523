import { CommandError } from '../failure.ts';
import { sameUrl } from '../profile.ts';
import { ask } from './request.ts';

/** A platform, and where people sign in to it. */
export interface Platform {
  /** `{base_url}` without a slash at its end: where the key is made. */
  url: string;
  /** The same as the platform writes it: what tokens are asked for. */
  resource: string;
  issuer: string;
  /** Every answer of the browser names the issuer (RFC 9207). */
  namesIssuer: boolean;
  authorize: string;
  token: string;
  /** Undefined: it has no device codes. */
  device: string | undefined;
}

/**
 * Finds where people sign in to the platform at an address (RFC 9728, RFC 8414). A platform may call itself otherwise: then that
 * address counts, and has to say the same of itself. Throws `CommandError`.
 */
export async function discover(url: string, signal?: AbortSignal): Promise<Platform> {
  let said = await describe(url, signal);
  if (!sameUrl(said.resource, url)) {
    const { resource } = said;
    said = await describe(withoutSlash(resource), signal);
    // Else a token for one platform could be asked for in the name of another.
    if (!sameUrl(said.resource, resource))
      throw new CommandError(`${url} says that it is ${resource}, which says that it is ${said.resource}`);
  }
  return metadataOf(said, signal);
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** What a platform says of itself. */
interface Said {
  resource: string;
  /** Where people sign in to it. */
  server: string;
}

async function describe(url: string, signal?: AbortSignal): Promise<Said> {
  const { status, body } = await ask(`${url}/.well-known/oauth-protected-resource`, {}, signal);
  const { resource, authorization_servers: servers } = body;
  const server: unknown = Array.isArray(servers) ? servers[0] : undefined;
  if (status === 200 && isAddress(resource) && isAddress(server)) return { resource, server };
  throw new CommandError(`${url} is no svc platform, or one of before svc login (HTTP ${status})`);
}

async function metadataOf({ resource, server: issuer }: Said, signal?: AbortSignal): Promise<Platform> {
  const url = withoutSlash(resource);
  const { origin, pathname } = new URL(issuer);
  const at = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`;
  const { status, body } = await ask(at, {}, signal);
  const refuse = (why: string): never => {
    throw new CommandError(`${issuer}, where people sign in to ${url}, ${why}`);
  };
  if (status !== 200) return refuse(`does not say how (HTTP ${status})`);
  if (body['issuer'] !== issuer) return refuse('says that it is somebody else');
  const isSecret = url.startsWith('https:');
  const endpoint = (name: string): string => {
    const value = body[`${name}_endpoint`];
    if (!isAddress(value)) return refuse(`names no ${name}_endpoint`);
    return isSecret && !value.startsWith('https:') ? refuse(`has a ${name}_endpoint without https`) : value;
  };
  return {
    url,
    resource,
    issuer,
    namesIssuer: body['authorization_response_iss_parameter_supported'] === true,
    authorize: endpoint('authorization'),
    token: endpoint('token'),
    device: body['device_authorization_endpoint'] === undefined ? undefined : endpoint('device_authorization'),
  };
}

/** Whether a text of a platform is an address that may be asked, or shown to a browser. */
export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 2_000 && URL.canParse(value) && /^https?:\/\/[^\s@]+$/.test(value);
