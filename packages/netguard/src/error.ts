/** Why an outbound request has no answer. */
export type OutboundFailure = 'refused' | 'failed' | 'timeout';

const messages: Record<OutboundFailure, string> = {
  refused: 'this address is not allowed',
  failed: 'the server did not answer properly',
  timeout: 'the server did not answer in time',
};

/**
 * A request that was not made or not answered. One message a kind: what an address is or why it was refused tells a
 * stranger about this network. The reason is in `cause`, for the log alone.
 */
export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly kind: OutboundFailure;

  constructor(kind: OutboundFailure, cause?: unknown) {
    super(messages[kind], { cause });
    this.kind = kind;
  }
}

/** A refusal by the address rules: nothing was sent. */
export const refused = (reason: string): OutboundError => new OutboundError('refused', reason);
