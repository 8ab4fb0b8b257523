import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { contract, exportFormats, uuid } from '@svc/contract';
import { z } from 'zod';
import type { Context } from '../../kernel/http/context.ts';
import type { Feature } from '../../kernel/feature.ts';
import { type Invocation, invoke } from '../../kernel/mount/invoke.ts';
import { jsonFor, partOf } from './mcp.answers.ts';
import type { McpParts, Tool } from './mcp.tools.ts';

const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
const adds = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
const id = uuid.describe('The transcript');
/** Exports that are text: a model reads no PDF. */
const textFormats = exportFormats.filter((format) => format !== 'pdf' && format !== 'docx');
/** Where a model reads what is left out of an answer. */
const whereSaid = 'export_transcript has all of it, a part after the other';
const whereListed = 'ask again with a smaller limit and the same cursor';
/** As a query carries it. */
const limited = ({ limit, ...query }: Record<string, unknown>): Record<string, unknown> => ({
  ...query,
  ...(limit !== undefined && { limit: JSON.stringify(limit) }),
});

type Call = (context: Context, verb: string, given: Invocation) => Promise<string>;

/** The tools of transcripts (document 1, Transcripts): each runs the route of the same name, with its rights and checks. */
export function transcriptTools(parts: McpParts): Tool[] {
  const call: Call = async (context, verb, given) =>
    jsonFor(await invoke(parts.transcripts, verb, context, given), verb === 'get' ? whereSaid : whereListed);
  // None takes the token of an app (document 1, Transcripts).
  return [...readingTools(parts, call), ...writingTools(call)].map((tool) => ({ ...tool, scopes: undefined }));
}

const exported = async (transcripts: Feature, context: Context, given: Invocation, offset: number): Promise<string> =>
  partOf(await text((await invoke(transcripts, 'export', context, given)) as Readable), offset);

const exportTool = (transcripts: Feature): Omit<Tool, 'scopes'> => ({
  name: 'export_transcript',
  description: 'A transcript as a text file, about 64,000 characters at a time',
  input: z.object({
    id,
    format: z.enum(textFormats as ['md', ...string[]]).default('md'),
    offset: z.int().min(0).default(0).describe('Where to go on, as the part before says'),
  }),
  hints: reads,
  run: (context, { id: of, format, offset }) =>
    exported(transcripts, context, { params: { id: of }, query: { format } }, Number(offset)),
});

function readingTools({ transcripts }: McpParts, call: Call): Omit<Tool, 'scopes'>[] {
  const { list, search, ask } = contract.transcripts;
  const { folder_id, tag, from, to, mode } = search.query.shape;
  const { status, q: title } = list.query.shape;
  return [
    {
      name: 'list_transcripts',
      description: 'Recordings of the account, newest first, without what was said in them',
      input: z.object({
        status: status.optional(),
        folder_id,
        tag,
        q: title.describe('A part of the title'),
        limit: z.int().min(1).max(200).optional(),
        cursor: z.string().max(200).optional().describe('next_cursor of the page before'),
      }),
      hints: reads,
      run: (context, input) => call(context, 'list', { query: limited(input) }),
    },
    {
      name: 'get_transcript',
      description: 'One recording with its speakers, utterances, insights and bookmarks',
      input: z.object({ id }),
      hints: reads,
      run: (context, { id: of }) => call(context, 'get', { params: { id: of }, query: { words: 'none' } }),
    },
    {
      name: 'search_transcripts',
      description: 'Utterances that have words, a name like it, or the meaning',
      input: z.object({
        q: z.string().min(1).max(500),
        mode: mode.optional(),
        folder_id,
        tag,
        from,
        to,
        limit: z.int().min(1).max(100).optional(),
        cursor: z.string().max(200).optional().describe('next_cursor of the page before'),
      }),
      hints: reads,
      run: (context, input) => call(context, 'search', { query: limited(input) }),
    },
    {
      name: 'ask_transcripts',
      description: 'A question across recordings; the answer points at utterances that carry it',
      input: ask.takes.schema,
      hints: reads,
      run: (context, body) => call(context, 'ask', { body }),
    },
    exportTool(transcripts),
  ];
}

function writingTools(call: Call): Omit<Tool, 'scopes'>[] {
  return [
    {
      name: 'accept_transcript_prompt',
      description: 'Keep a prompt that the insights of a recording suggest, for a later chat',
      input: z.object({ id, index: z.int().min(0).max(999) }),
      hints: { ...adds, idempotentHint: true },
      run: (context, { id: of, index }) => call(context, 'acceptPrompt', { params: { id: of, index: String(index) } }),
    },
    {
      name: 'transcript_share_create',
      description: 'A link by which anybody can read the transcript; ask the user before you make one',
      // Strict: a date that is misspelt must not make a link that never expires.
      input: z.strictObject({
        id,
        expiresInDays: z.int().min(1).max(365).optional().describe('Absent: it never expires'),
      }),
      hints: adds,
      run: (context, { id: of, expiresInDays: days }) =>
        call(context, 'share', { params: { id: of }, body: { ...(days !== undefined && { expiresInDays: days }) } }),
    },
  ];
}
