/** A command that cannot go on: `message` is the one line a person sees, `exitCode` what the process exits with. */
export class CommandError extends Error {
  override name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** An operation that failed: `message` travels to the caller as `error` beside `ok: false`. */
export class OpError extends Error {
  override name = 'OpError';
}

/** The `code` of a system error (`ENOENT`, …), undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** A person at this machine has to approve it first: nothing was started. */
export class NotApproved extends OpError {
  override name = 'NotApproved';
}

const opErrors: Readonly<Record<string, string>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EACCES: 'permission_denied',
  EPERM: 'permission_denied',
  EISDIR: 'is_a_directory',
  ELOOP: 'too_many_links',
  ENAMETOOLONG: 'bad_args: path: too long',
  ENOSPC: 'no_space',
  EDQUOT: 'no_space',
  EROFS: 'read_only',
};

/** Any failure as the `OpError` a caller sees; system errors become words, everything unexpected `internal_error`. */
export function toOpError(error: unknown): OpError {
  if (error instanceof OpError) return error;
  const code = errnoOf(error);
  if (code === undefined) return new OpError('internal_error', { cause: error });
  return new OpError(opErrors[code] ?? `io_error: ${code}`);
}
