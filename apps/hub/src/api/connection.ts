import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** How this browser hears of changes. */
export interface Connection {
  /** Changes come as they happen. */
  isLive: boolean;
  isOnline: boolean;
  /** Until when what is shown was true, in milliseconds since the epoch. */
  at: number;
}

const Context = createContext<Connection>({ isLive: true, isOnline: true, at: 0 });
/** Tells all that stands inside how the connection is. */
export const ConnectionProvider = Context.Provider;
/** How the connection is. */
export const useConnection = (): Connection => useContext(Context);
