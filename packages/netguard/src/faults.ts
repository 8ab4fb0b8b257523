/** Errors of the runtime in words for people, without a word of the runtime's own. */
import { OutboundError, type OutboundStage } from './error.ts';

export { OutboundError } from './error.ts';

/** What a failed request is called; errors of Node.js, OpenSSL and undici are told by their codes. */
export function outboundErrorOf(error: unknown): OutboundError {
  // A connector's own refusal comes back as it is or as a cause.
  for (const each of chainOf(error)) if (each instanceof OutboundError) return each;
  const name = codeOf(error) ?? '';
  return new OutboundError(/TIMEOUT|ETIMEDOUT/.test(name) ? 'timeout' : 'failed', error, stageOf(name));
}

/** Where it failed, by its code; undefined once a request may have been sent. */
function stageOf(code: string): OutboundStage | undefined {
  if (/^(?:ENOTFOUND|EAI_[A-Z]+|ENODATA)$/.test(code)) return 'name';
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code))
    return 'connect';
  if (/^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/.test(code))
    return 'tls';
  return undefined;
}

/** The first code in an error and what caused it. */
function codeOf(error: unknown): string | undefined {
  for (const each of chainOf(error)) {
    const { code } = each as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return undefined;
}

const mostCauses = 8;

/** An error, its causes, and the first of several that it stands for. */
function chainOf(error: unknown): object[] {
  const chain: object[] = [];
  for (let each = error; typeof each === 'object' && each !== null && chain.length < mostCauses; ) {
    chain.push(each);
    const { cause, errors } = each as { cause?: unknown; errors?: unknown };
    each = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return chain;
}
