import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** Runs the library for a request of a network, see `networkOf`: it calls the adapter without the request. */
export const forNetwork = <T>(network: string, run: () => T): T => current.run(network, run);

/** The network of the request that the library answers; null outside of one. */
export const currentNetwork = (): string | null => current.getStore() ?? null;
