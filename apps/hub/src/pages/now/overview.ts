import { api } from '../../api/client.ts';

/** What needs a person, as the API tells it. */
export type Overview = Awaited<ReturnType<typeof api.overview.get>>;
/** Something that needs a person. */
export type Item = Overview['attention'][number];

/** Reads the overview; menu and first page share one answer. */
export const readOverview = async (): Promise<Overview> => api.overview.get();
