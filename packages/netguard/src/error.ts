/** Why an outbound request has no answer. */
export type OutboundFailure = 'refused' | 'failed' | 'timeout';

/** Where a request failed before anything was sent. */
export type OutboundStage = 'name' | 'connect' | 'tls';

const messages: Record<OutboundFailure, string> = {
  refused: 'this address is not allowed',
  failed: 'the server did not answer properly',
  timeout: 'the server did not answer in time',
};

/** Tells a person who looks for the fault which stage failed. */
const stages: Record<OutboundStage, Record<Exclude<OutboundFailure, 'refused'>, string>> = {
  name: { failed: "the server's name was not found", timeout: "the server's name was not found in time" },
  connect: { failed: 'the server took no connection', timeout: 'the server took no connection in time' },
  tls: {
    failed: 'the TLS connection failed; is the certificate valid?',
    timeout: 'the TLS connection was not made in time',
  },
};

/**
 * A request that was not made or not answered. One message a kind and stage: what an address is or why it was refused
 * tells a stranger about this network. The reason is in `cause`, for the log alone.
 */
export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly kind: OutboundFailure;

  constructor(kind: OutboundFailure, cause?: unknown, stage?: OutboundStage) {
    super(stage === undefined || kind === 'refused' ? messages[kind] : stages[stage][kind], { cause });
    this.kind = kind;
  }
}

/** A refusal by the address rules: nothing was sent. */
export const refused = (reason: string): OutboundError => new OutboundError('refused', reason);
