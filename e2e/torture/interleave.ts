import type { Side } from './side.ts';
import type { Subject } from './subject.ts';

/** What two moves of one row came to. */
export interface Ending {
  /** Of the first move and of the second: the new state, `refused`, or an error. */
  readonly moves: readonly [string, string];
  readonly row: string;
}

/** An order of the statements of two transactions: one does so many, then the other all of its, then the first its rest. */
export interface Order {
  readonly first: 0 | 1;
  readonly statements: number;
}

/** What an order came to. */
export interface Played extends Ending {
  /** The first one had no more statements than it was to do: the order is a serial one. */
  readonly isSerial: boolean;
  readonly switches: number;
}

const errorOf = (error: unknown): string => `error ${(error as { code?: string }).code ?? (error as Error).message}`;

/** Plays two moves of a new row in an order. */
export async function play(
  subject: Subject,
  sides: readonly [Side, Side],
  { state, moves }: { state: string; moves: readonly [string, string] },
  { first, statements }: Order,
): Promise<Played> {
  const id = await subject.make(state, moves);
  const done = ([0, 1] as const).map((n) =>
    sides[n].begin((sql) => subject.perform(sql, id, moves[n])).catch(errorOf),
  ) as [Promise<string>, Promise<string>];
  const [one, other] = first === 0 ? sides : ([sides[1], sides[0]] as const);
  let isSerial = false;
  let switches = 0;
  for (let n = 0; n < statements && !isSerial; n++) isSerial = (await one.step()) === 'over';
  switches += 1;
  if ((await other.finish()) === 'blocked') {
    switches += 2;
    await one.finish();
    await other.finish();
  } else if (!isSerial) {
    switches += 1;
    await one.finish();
  }
  const ended = await Promise.all(done);
  return { moves: ended, row: await subject.row(id), isSerial, switches };
}

/** Whether an order came to what one of the serial ones does. */
export const isOneOf = (serial: readonly Ending[], { moves, row }: Ending): boolean =>
  serial.some((one) => one.moves[0] === moves[0] && one.moves[1] === moves[1] && one.row === row);
