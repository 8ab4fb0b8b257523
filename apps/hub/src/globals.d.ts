/** Hash of the sources that this build was made of. */
declare const HUB_BUILD: string;
/** Files that the first page needs. */
declare const HUB_SHELL: readonly string[];
declare module '*.css';
