/** One finding; `fix` says what to do about a fault. */
export interface Check {
  name: string;
  ok: boolean;
  found: string;
  fix?: string;
}
