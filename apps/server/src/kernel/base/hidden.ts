import { hiddenValue } from '@svc/contract';

/** Header values, by name. */
export type Headers = Readonly<Record<string, string>>;

/**
 * The headers after a change: those given, with the stored value for each hidden one (`***`) of the same name. Throws `refuse`'s
 * error when no value is stored.
 */
export function keepHidden(given: Headers, stored: Headers, refuse: (message: string) => Error): Headers {
  const byName = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (value !== hiddenValue) return [name, value];
      const kept = byName.get(name.toLowerCase());
      if (kept === undefined) throw refuse(`there is no stored value of ${name} for this server; send one`);
      return [name, kept];
    }),
  );
}

/** The same names, each value hidden. */
export const hide = (headers: Headers): Headers =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, hiddenValue]));

/** Whether a value is hidden. */
export const holdsHidden = (headers: Headers): boolean => Object.values(headers).includes(hiddenValue);
