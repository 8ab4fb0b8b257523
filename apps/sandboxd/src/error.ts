import { type NodeErrorBody, type NodeErrorCode, nodeErrors } from '@svc/sandboxd-api';

/** A refusal that the gateway can act on. */
export class NodeError extends Error {
  override name = 'NodeError';
  readonly code: NodeErrorCode;
  readonly retryAfterS: number | undefined;

  constructor(code: NodeErrorCode, message: string, options: { retryAfterS?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryAfterS = options.retryAfterS;
  }

  get status(): number {
    return nodeErrors[this.code];
  }

  get body(): NodeErrorBody {
    const { code, message, retryAfterS } = this;
    return { error: { code, message, ...(retryAfterS !== undefined && { retry_after_s: retryAfterS }) } };
  }
}
