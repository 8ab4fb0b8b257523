import type { KoaContextWithOIDC } from 'oidc-provider';

type Context = KoaContextWithOIDC;
/** A failure in the words of OAuth. */
interface Failure {
  error: string;
  error_description?: string;
}

/** Pages and requests that the provider's library leaves to us. */
export interface ProviderPages {
  error: (ctx: Context, out: Failure) => Promise<void>;
  deviceInput: (ctx: Context, form: string, out?: Failure, error?: Error) => Promise<void>;
  deviceConfirm: (ctx: Context, form: string, client: unknown, info: unknown, userCode: string) => Promise<void>;
  /** The grant that was decided on the page with the code; undefined: that is asked on a page of its own. */
  deviceConsent: (ctx: Context) => Promise<string | undefined>;
  deviceDone: (ctx: Context) => Promise<void>;
  deviceInfo: (ctx: Context) => Record<string, unknown>;
  signOut: (ctx: Context, form: string) => Promise<void>;
  signedOut: (ctx: Context) => Promise<void>;
  /** Fetches what strangers name: a metadata document of a client. */
  fetch: (url: string) => Promise<Response>;
}
