import { z } from 'zod';

/** Columns or rows of a terminal. */
const cells = z.int().min(1).max(1_000);

/**
 * A text message of a client of a terminal, as JSON: the size of its window, which may change at any time. Binary messages
 * are bytes of the terminal both ways: keys from the client, output from the server, cut anywhere.
 */
export const terminalRequest = z.object({ resize: z.object({ cols: cells, rows: cells }) });

/**
 * A text message of the server, as JSON, after all output: the program has ended, and the socket closes. The code is null
 * when a signal ended it, or when it could not start.
 */
export const terminalEnd = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().max(32).nullish().describe('Name of the signal that ended it, such as `SIGKILL`'),
});
