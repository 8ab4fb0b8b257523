import type { FeedChange, View } from './feed.reader.ts';

/** The JSON of an object of at least one field, with a further one whose value is JSON text. */
export const withField = (fields: object, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(name)}:${json}}`;

/** The record of a change as JSON; its id alone when it was too long, or is gone. */
export const recordOf = ({ record, id }: Pick<FeedChange, 'record' | 'id'>): string => record ?? JSON.stringify({ id });

/** The view of a stream whose frames hold the record under its name: `{ op, <name>: record, cursor }`. */
export const recordView = (topic: string, name: string, opOf = (op: FeedChange['op']): string => op): View => ({
  topics: new Set([topic]),
  frame: (change) => ({
    event: name,
    json: withField({ op: opOf(change.op), cursor: change.cursor }, name, recordOf(change)),
  }),
});
