/** Ways to ask a browser for the place in a text at a point; each browser has one of them. */
interface PointReader {
  caretPositionFromPoint?(x: number, y: number): { offsetNode: Node; offset: number } | null;
  caretRangeFromPoint?(x: number, y: number): { startContainer: Node; startOffset: number } | null;
}

/** How many characters of an element's text stand before the point of a press. */
export function offsetAt(element: HTMLElement, { clientX, clientY }: MouseEvent): number {
  const reader = document as unknown as PointReader;
  const position = reader.caretPositionFromPoint?.(clientX, clientY);
  const range = position ? undefined : reader.caretRangeFromPoint?.(clientX, clientY);
  const node = position?.offsetNode ?? range?.startContainer;
  if (!node || !element.contains(node)) return 0;
  const before = document.createRange();
  before.setStart(element, 0);
  before.setEnd(node, position?.offset ?? range?.startOffset ?? 0);
  return before.toString().length;
}
