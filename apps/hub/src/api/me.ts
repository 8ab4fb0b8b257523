import { api } from './client.ts';
import { type Answer, useAnswer } from './queries.ts';

/** Who is signed in. */
export type Me = Awaited<ReturnType<typeof api.me.get>>;

/** Who is signed in, and what they have. */
export const useMe = (): Answer<Me> => useAnswer(['me'], async () => api.me.get());
