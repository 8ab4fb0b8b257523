/** Stat of a file by which a change is seen; empty where it cannot be told by. */
export type Stat = readonly number[];
/** The stat of a file; `now`: empty where it changed so lately that it may change again unseen. */
export function statOfFile(path: string, now: number): Stat;
/** The hash of a content, as a bundle keeps it. */
export function hashOf(content: string | Uint8Array): Promise<string>;
/** The file of a bundle with the names of what it is made of. */
export const listFile: string;
/** The file with the hashes of their contents. */
export const hashesFile: string;
/** The first line of the list of a bundle of so many files. */
export function headOf(own: number): string;
/** The name of a bundle with this list and these hashes. */
export function nameOf(list: string, hashes: string): Promise<string>;
/** Writes the stats of a bundle's files, whole or not at all. */
export function writeStats(folder: string, stats: readonly Stat[]): Promise<void>;
/** Whether a bundle is whole, written by who may, and made of the files that are there. */
export function fits(folder: string): Promise<boolean>;
