import type { artifacts } from '../artifacts.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

/** Descriptions and examples of the route of artifacts. */
export const artifactsDocs = {
  download: {
    description:
      'Follow the `url` of an artifact or of a snapshot as it is; no key is needed, so anybody who has the link can read ' +
      'the file. 403 `forbidden` means that the link was changed or is too old: collect the artifacts again for a new ' +
      'one. The file comes with the media type that its content has, and is never shown in place.',
    example: {
      params: { id: samples.artifact },
      query: { expires: samples.expires, signature: samples.signature },
      headers: { range: 'bytes=0-1023' },
      response: 'The bytes of the file.',
    },
  },
} satisfies Docs<typeof artifacts>;
