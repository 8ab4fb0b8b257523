import type { Fault } from './fault.ts';
import type { Fate, Statement } from './proxy.ts';

/** Statements of requests are told from all others by the name of their pool. */
export const isOfRequest = ({ application }: Statement): boolean => application === 'svc requests';

const fateOf = (name: Exclude<Fate, 'pass'>): Fault => ({
  name,
  arm({ proxy }, nth) {
    let count = 0;
    let hit: string | undefined;
    proxy.decide = (statement) => {
      if (!isOfRequest(statement) || ++count !== nth) return 'pass';
      hit = statement.sql;
      return name;
    };
    return { hit: () => hit, [Symbol.dispose]: () => void (proxy.decide = () => 'pass') };
  },
});

/** The connection breaks before the n-th statement is there, behind it, or is heard of no more. */
export const databaseFaults: readonly Fault[] = [fateOf('cut'), fateOf('lose'), fateOf('swallow')];
