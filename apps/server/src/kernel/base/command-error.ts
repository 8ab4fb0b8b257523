/** A command's failure that its user can mend; the message says how. */
export class CommandError extends Error {
  override name = 'CommandError';
}
