import { CommandError } from '../../failure.ts';

/** A port in words of a command line. */
export function portOf(text: string, what = 'the port'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new CommandError(`${what} must be a number from 1 to 65535, not "${text}"`);
}
