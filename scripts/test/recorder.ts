// Stands for `node:test` where names are asked for: runs what declares tests, and none of them.
import { mock } from 'node:test';

type Declare = (...words: unknown[]) => Promise<void>;

/** Names of tests in the order of their declaration; a suite's name stands before those of its tests. */
export const declared: string[] = [];
/** Names of the suites that are being declared now. */
let suites: readonly string[] = [];

const nameOf = ([first]: readonly unknown[]): string => (typeof first === 'string' ? first : '<anonymous>');
const bodyOf = (words: readonly unknown[]): unknown => words.find((word) => typeof word === 'function');

async function declareTest(...words: unknown[]): Promise<void> {
  declared.push([...suites, nameOf(words)].join(': '));
}

async function declareSuite(...words: unknown[]): Promise<void> {
  const outer = suites;
  suites = [...outer, nameOf(words)];
  const body = bodyOf(words);
  // Suites of this repository declare their tests before they answer.
  if (typeof body === 'function') void body();
  suites = outer;
}

const withVariants = (declare: Declare) => Object.assign(declare, { skip: declare, todo: declare, only: declare });

export const test = withVariants(declareTest);
export const it = test;
export const describe = withVariants(declareSuite);
export const suite = describe;
const never = (): void => {};
export const before = never;
export const after = never;
export const beforeEach = never;
export const afterEach = never;
export { mock };
export default test;
