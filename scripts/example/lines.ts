/** A line that a new feature adds to a file that is there: before the first one that begins with `before`. */
interface Line {
  readonly file: string;
  readonly before: string;
  readonly line: string;
}

const server = 'apps/server/src';
const contract = 'packages/contract/src';

/** The lines that the feature of `files` adds: CONTRIBUTING.md names the same files. */
export const lines: readonly Line[] = [
  { file: `${contract}/index.ts`, before: 'import { usage }', line: "import { notes } from './notes.ts';" },
  { file: `${contract}/index.ts`, before: '  health,', line: '  notes,' },
  { file: `${contract}/scopes.ts`, before: "  'keys',", line: "  'notes'," },
  { file: `${contract}/events.ts`, before: "  'prompts',", line: "  'notes'," },
  {
    file: `${contract}/docs/index.ts`,
    before: 'import { usageDocs }',
    line: "import { notesDocs } from './notes.ts';",
  },
  { file: `${contract}/docs/index.ts`, before: '  health:', line: '  notes: notesDocs,' },
  {
    file: `${contract}/docs/samples.ts`,
    before: '  /** A page that can be fetched. */',
    line: "  /** A note that is open. */\n  note: '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed',",
  },
  {
    file: `${server}/config.quotas.ts`,
    before: '  keys:',
    line: "  notes: quota.default(100).describe('notes an account may have'),",
  },
  {
    file: `${server}/features.ts`,
    before: 'import { kernelManifest }',
    line: "import { notesManifest } from './features/notes/index.ts';",
  },
  { file: `${server}/features.ts`, before: '  pagesManifest,', line: '  notesManifest,' },
  {
    file: `${server}/app.features.ts`,
    before: 'import type { Kernel }',
    line: "import { notesFeature } from './features/notes/feature.ts';",
  },
  { file: `${server}/app.features.ts`, before: '    hostsFeature(kernel', line: '    notesFeature,' },
  {
    file: `${server}/contract.test.ts`,
    before: "      '/v1/prompts/':",
    line: "      '/v1/notes/': (await host.client.notes.create({ body: { text: 'Mine' } })).id,",
  },
  {
    file: `${server}/testing.makers.ts`,
    before: '  prompt: async',
    line: "  note: async (scene) => (await scene.call('POST', '/v1/notes', docs.notes.create.example.body)).id,",
  },
  {
    file: `${server}/testing.preparations.ts`,
    before: "  'prompts.stream':",
    line: "  'notes.stream': { whenOpen: (scene) => scene.id('note') },",
  },
  {
    file: 'docs/security.md',
    before: '| runs of schedules:',
    line: '| notes that are done are forgotten | `notes.sweep` | nobody asks for it | | |',
  },
];
