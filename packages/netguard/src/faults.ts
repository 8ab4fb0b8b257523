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

/** What else the system refuses. */
const systemFaults: Readonly<Record<string, string>> = {
  ENOENT: 'a file is not there',
  EACCES: 'a file may not be used',
  EPERM: 'the system does not allow it',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EROFS: 'the disk cannot be written to',
  EMFILE: 'too many files are open',
  ENOMEM: 'there is not enough memory',
};

/**
 * An error of the runtime as people may read it: by its code, or that of what caused it. Its own words are not passed on: they
 * hold addresses with their users and queries, and paths of this program. Errors with words of ours are told as they are.
 */
export function faultText(error: unknown): string {
  if (chainOf(error).some((each) => each instanceof OutboundError)) return outboundErrorOf(error).message;
  const code = codeOf(error);
  if (code === undefined) return 'an unexpected fault occurred';
  const isOfNetwork = stageOf(code) !== undefined || /^(?:ECONNRESET|EPIPE|UND_ERR_\w+|HPE_\w+)$/.test(code);
  if (isOfNetwork) return outboundErrorOf(error).message;
  return systemFaults[code] ?? 'the system refused it';
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
