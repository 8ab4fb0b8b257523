import { z } from 'zod';

/** A number that a query carries as its digits. */
export const digits = (most: number, means: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,4}$/, 'must be a whole number from 1 on')
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .describe(means) as unknown as z.ZodType<number, number>;

/** Size of its window, in the query of a request that opens a terminal. */
export const terminalWindow = {
  cols: digits(1_000, 'Of a terminal; default 80').default(80),
  rows: digits(1_000, 'Of a terminal; default 24').default(24),
};

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
