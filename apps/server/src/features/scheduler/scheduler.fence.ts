/** Which holder had which attempt of a run: what comes late is told by it. */
interface Fence {
  attempt: number;
  /** A device, or a gateway of the cloud. */
  holderId: string;
}

/** As `answers` and `ending` of a run hold it. Earlier versions wrote it so, and gateways of two versions run side by side. */
export const fenceText = ({ attempt, holderId }: Fence): string => `${attempt}:${holderId}`;

/** The fences of an attempt by any holder, for `like`. */
export const fencePattern = (attempt: number): string => `${attempt}:%`;

/** Takes the text apart again. */
export function fenceOf(text: string): Fence {
  const at = text.indexOf(':');
  return { attempt: Number(text.slice(0, at)), holderId: text.slice(at + 1) };
}
