import type { z } from 'zod';
import type { prompt, prompts } from '../prompts.ts';
import type { Docs } from './docs.ts';
import { samples } from './samples.ts';

const text = 'Add a changelog entry for the new export, and open a pull request.';
/** A prompt that waits. */
export const openPrompt: z.output<typeof prompt> = {
  id: samples.prompt,
  prompt: text,
  text_hash: 'a20abc06833cc54c74e752e64338470a7badcf6b7a48334161fb8c23b3b9c97e',
  source: 'agent',
  goal_key: 'export-changelog',
  not_before: '2026-11-03T07:00:00.000Z',
  auto_run: false,
  status: 'open',
  created_at: '2026-11-02T09:00:00.000Z',
  updated_at: '2026-11-02T09:00:00.000Z',
};
const launched: z.output<typeof prompt> = {
  ...openPrompt,
  status: 'launched',
  run_session_id: samples.session,
  waiting_for: `device ${samples.device}: it has not taken the prompt`,
  launched_at: '2026-11-02T09:00:00.000Z',
};
const report = {
  verdict: 'partial',
  summary: 'The entry is written, the pull request is not open.',
  changed: 'CHANGELOG.md has an entry for the export.',
  remaining: 'Open the pull request.',
} as const;
const byId = { id: samples.prompt };

/** Descriptions and examples of the routes of prompts. */
export const promptsDocs = {
  list: {
    description:
      'Without `status` those that are open come. A page holds 4 MiB of texts at most; `next_cursor` asks for the next one.',
    example: { query: { status: 'active', limit: 20 }, response: { prompts: [openPrompt] } },
  },
  create: {
    description:
      'Texts that differ in white space only are one prompt, whatever its state: the answer is 200 with `created: false` and ' +
      'nothing changes. A newer prompt of a `goal_key` closes the open ones as `superseded`. A date in `not_before` means ' +
      '07:00 UTC; the account is told when it passes.',
    example: {
      body: { prompt: text, source: 'agent', goal_key: 'export-changelog', not_before: '2026-11-03' },
      response: { created: true, id: samples.prompt, prompt: openPrompt },
    },
  },
  stream: {
    description:
      'Each creation, change and deletion comes with the whole prompt, a deletion with its `id` alone, as does a ' +
      'prompt of over 8,000 bytes. Begin without `after` and read the list; after a connection that broke send the ' +
      'last `cursor` as `after`, and nothing is missing. With `missed: true` read the list anew.',
    example: {
      query: { after: samples.cursor },
      response: { event: 'prompt', data: { op: 'create', prompt: openPrompt, cursor: samples.cursor } },
    },
  },
  verifyAll: {
    description:
      'One result for each prompt, failures among them with code and message; ids of others are `not_found`. Without `ids` a call ' +
      'takes 50 of the active ones that have a session, newest first; `next_cursor`, sent as `cursor`, goes on with the rest. It ' +
      'costs as many requests to a model.',
    example: {
      body: { ids: [samples.prompt] },
      response: { results: [{ id: samples.prompt, ok: true, prompt: { ...openPrompt, report } }] },
    },
  },
  get: {
    description: 'With its whole text, what became of it, and the last `report`.',
    example: { params: byId, response: { prompt: openPrompt } },
  },
  update: {
    description:
      'A new `not_before` arms one more reminder, null makes it due. What is active can be set to `done` or `dismissed`, which ' +
      'takes back what was launched and no device has begun; what runs goes on, unless `stop` is `true`. A closed prompt cannot ' +
      'be opened again and answers 409 `prompt_closed`.',
    example: { params: byId, body: { status: 'done' }, response: { prompt: { ...openPrompt, status: 'done' } } },
  },
  remove: {
    description:
      'Its session and what was said there stay. What was launched and no device has begun is taken back; what runs goes on, ' +
      'unless `stop` is `true`.',
    example: { params: byId, query: { stop: 'true' }, response: { deleted: true, id: samples.prompt } },
  },
  launch: {
    description:
      'The text goes to the device as a `send`, which waits until it is there: the one given here, the one of the prompt, the ' +
      'desktop or Android device that was seen last, or without any the next one that listens (`waiting_for`). While a launch ' +
      'waits or runs another one answers it, but for one to another device while none took it, or with `force`. Notifications ' +
      '`prompt.answered` and `prompt.failed` say how it ended.',
    example: { params: byId, body: { target_device_id: samples.device }, response: { prompt: launched } },
  },
  match: {
    description:
      'Turns of shared sessions are matched by themselves: the same text, the same first 4,000 characters, or 85 % of the ' +
      'words. Use this for chats elsewhere. A prompt that is active no more answers 409 `prompt_closed`.',
    example: {
      params: byId,
      body: { match_ref: 'chat-81', match_turn_id: 'turn-3' },
      response: {
        prompt: {
          ...openPrompt,
          status: 'sent',
          match_ref: 'chat-81',
          match_turn_id: 'turn-3',
          sent_at: '2026-11-02T09:00:00.000Z',
        },
      },
    },
  },
  verify: {
    description:
      'The model `svc-fast` reads the session, with what its turns and tools came to, and what you send; the `report` is kept. ' +
      'With verdict `done` the prompt is `verified`, else its state stays; without session, diff and files it is `not_started` ' +
      'and no model is asked. Without a model, or without a verdict in two tries, the answer is 502.',
    example: {
      params: byId,
      body: { diff: '+- New: export as CSV' },
      response: { prompt: { ...openPrompt, report } },
    },
  },
} satisfies Docs<typeof prompts>;
