import { z } from 'zod';
import { text } from './fields.ts';
import { egress, template } from './sandboxes.shapes.ts';

/** Skills for making files in a sandbox (document 3, Chat tool and skills). */
export const skillNames = ['docx', 'xlsx', 'pdf', 'pptx'] as const;
export type SkillName = (typeof skillNames)[number];

/** Clients of Anthropic name every tool (additive); ours have their own names. */
const toolName = text(128).optional();

/** An entry of `tools` that gives the model a sandbox. */
export const sandboxTool = z.strictObject({
  type: z.literal('svc_sandbox'),
  name: toolName,
  egress: egress.optional(),
  template: template.optional(),
  skills: z.array(z.enum(skillNames)).max(skillNames.length).optional(),
});

/** An entry of `tools` that gives the model Python alone, in a sandbox without network. */
export const pythonTool = z.strictObject({ type: z.literal('exec_python'), name: toolName });

/** The same as `svc_sandbox` with skills, as clients of Anthropic say it. */
export const container = z.strictObject({
  skills: z
    .array(
      z.strictObject({
        type: text(100).min(1),
        skill_id: z.enum(skillNames),
        version: z.literal('latest').optional(),
      }),
    )
    .min(1)
    .max(8),
});

/** Fields that a request of chat completions or messages may have for tools of the server's. */
export const agentFields = {
  tools: z
    .array(z.looseObject({}))
    .nullish()
    .describe(
      'Tools of the client; `{"type": "svc_sandbox", "egress"?, "template"?, "skills"?}` gives the model a sandbox with bash, Python, an editor and files, `{"type": "exec_python"}` Python alone',
    ),
  container: z
    .union([z.string(), z.looseObject({})])
    .nullish()
    .describe(
      '`skills` of docx, xlsx, pdf, pptx mean the same as those of `svc_sandbox`; `id` and custom skills are refused',
    ),
};

/** Requests of one session share a sandbox (document 3, Chat tool and skills). */
export const sessionHeader = {
  'x-svc-session-id': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
    .optional()
    .describe('Requests with the same one share a sandbox of `svc_sandbox`, which lives 1 h after its last use'),
};
