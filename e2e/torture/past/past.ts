/** A fault that the product once had, as an edit that puts it back. */
export interface PastFault {
  /** For `--only`, in small letters with dashes. */
  readonly name: string;
  /** The fault, in one line, in the past. */
  readonly was: string;
  /** The file that it stood in, from the root of the repository. */
  readonly file: string;
  /** Text that stands in the file exactly once, and the text of the fault. */
  readonly find: string;
  readonly replace: string;
  /** The file of the test that finds it. */
  readonly test: string;
  /** The names of the tests of that file that run; unset: all. */
  readonly pattern?: string;
  /** The test finds it by waiting in vain: its timeout counts as an assertion. */
  readonly hangs?: boolean;
}
