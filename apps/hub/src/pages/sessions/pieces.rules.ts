/** The part of an event that says which answer it is a piece of. */
interface Piece {
  type: string;
  role?: string | undefined;
  turn_id?: string | undefined;
  text?: string | undefined;
}

/** Events with the pieces of one answer put together: each piece is an event of its own in the log. */
export function joined<T extends Piece>(events: readonly T[]): T[] {
  const all: T[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const goesOn = last?.type === 'delta' && event.type === 'delta' && last.turn_id === event.turn_id;
    if (goesOn && last.role === event.role) {
      all[all.length - 1] = { ...last, text: (last.text ?? '') + (event.text ?? '') };
    } else all.push(event);
  }
  return all;
}
