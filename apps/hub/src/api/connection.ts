import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** How this browser hears of changes. */
export interface Connection {
  /** Changes come as they happen. */
  isLive: boolean;
  isOnline: boolean;
  /** Until when changes came, in milliseconds since the epoch; undefined: none have, what is shown is as old as it was kept. */
  at: number | undefined;
}

const Context = createContext<Connection>({ isLive: true, isOnline: true, at: undefined });
/** Tells all that stands inside how the connection is. */
export const ConnectionProvider = Context.Provider;
/** How the connection is. */
export const useConnection = (): Connection => useContext(Context);
