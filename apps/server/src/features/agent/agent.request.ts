import { container as containerSchema, pythonTool, type SkillName, sandboxTool, wordsFor } from '@svc/contract';
import { isObject, objectOf, objectsOf, textOf, type Value } from '@svc/inference';
import type { z } from 'zod';
import { addFieldErrors, badRequest } from '../../kernel/base/errors.ts';
import { chatTools, pythonTools, type ToolName } from './agent.tools.ts';
import type { Bench } from './agent.workbench.ts';

/** The tools that a request wants, and the sandbox that they work in. */
export interface Setup extends Bench {
  tools: readonly ToolName[];
}

/** A request that wants tools of ours: what it wants, and the rest of it, which the model's provider gets. */
interface Wanted {
  setup: Setup;
  body: Value;
}

/** Tools of a provider's own sandbox, which ours replaces. */
const providersOwn = /^code_execution_\d+$/;

/** Whether a request names a tool of ours. */
export const asksForTools = (body: Value): boolean =>
  objectsOf(body['tools']).some(({ type }) => type === 'svc_sandbox' || type === 'exec_python');

const ours = ['svc_sandbox', 'exec_python'];

/** Throws 400 for a tool that is named as ours are and is none: a provider would ignore it, or refuse it without the reason. */
function refuseMisspelt(entries: readonly Value[]): void {
  for (const [at, { type }] of entries.entries()) {
    const name = textOf(type) ?? '';
    if (ours.includes(name) || !/^(?:svc[_-]|exec[_-]?py)/i.test(name)) continue;
    const message = `there is no tool "${name.slice(0, 60)}"; those of this platform are ${ours.join(' and ')}`;
    throw badRequest(`tools.${at}.type: ${message}`, { [`tools.${at}.type`]: [message] });
  }
}

/** Throws 400 for a tool of ours in a request of a protocol that has none of them. */
export function refuseOurs(body: Value): void {
  const entries = objectsOf(body['tools']);
  refuseMisspelt(entries);
  const at = entries.findIndex(({ type }) => ours.includes(textOf(type) ?? ''));
  if (at === -1) return;
  const message = 'works at /v1/chat/completions and /v1/messages; send the request there';
  throw badRequest(`tools.${at}: ${String(entries[at]?.['type'])} ${message}`, { [`tools.${at}`]: [message] });
}

/**
 * Reads `svc_sandbox`, `exec_python` and `container.skills` out of a request (document 3, Chat tool and skills); undefined
 * when it has none of them. Throws 400 for what of them is wrong.
 */
export function readWanted(body: Value): Wanted | undefined {
  const entries: Value[] = objectsOf(body['tools']);
  refuseMisspelt(entries);
  const boxes = entries.flatMap((entry, at) =>
    entry['type'] === 'svc_sandbox' ? [parse(`tools.${at}`, sandboxTool, entry)] : [],
  );
  const pythons = entries.flatMap((entry, at) =>
    entry['type'] === 'exec_python' ? [parse(`tools.${at}`, pythonTool, entry)] : [],
  );
  const contained = readContainer(body['container'], boxes.length > 0);
  if (boxes.length + pythons.length === 0 && !contained) return undefined;
  if (boxes.length > 1) throw badRequest('tools: one svc_sandbox is the most', { tools: ['has several svc_sandbox'] });
  if (body['n'] !== undefined && body['n'] !== null && body['n'] !== 1)
    throw badRequest('n: must be 1 where svc runs tools', { n: ['must be 1'] });
  const [box] = boxes;
  const tools = [...(box || contained ? chatTools : []), ...(pythons.length > 0 ? pythonTools : [])];
  const rest = entries.filter(({ type }) => {
    const name = textOf(type) ?? '';
    return name !== 'svc_sandbox' && name !== 'exec_python' && !(contained && providersOwn.test(name));
  });
  for (const entry of rest) {
    const name = textOf(entry['name']) ?? textOf(objectOf(entry['function'])['name']) ?? '';
    if (tools.some((tool) => tool === name))
      throw badRequest(`tools: ${name} is a tool of the server's; give yours another name`, {
        tools: ['has this name'],
      });
  }
  const { container: _, tools: __, ...others } = body;
  const skills = [...new Set([...(box?.skills ?? []), ...(contained ?? [])])];
  return {
    setup: { tools, skills, egress: box?.egress, template: box?.template },
    body: { ...others, ...(rest.length > 0 && { tools: rest }) },
  };
}

/** The skills that `container` names. Without any it is the provider's own, unless a sandbox of ours is asked for too. */
function readContainer(given: unknown, isOurs: boolean): SkillName[] | undefined {
  if (given === undefined || given === null) return undefined;
  const id = isObject(given) ? given['id'] : given;
  if (id !== undefined && id !== null) {
    throw badRequest('container.id: a container cannot be used again; send x-svc-session-id', {
      'container.id': ['is refused'],
    });
  }
  if (!isObject(given) || given['skills'] === undefined || given['skills'] === null) {
    if (!isOurs) return undefined;
    throw badRequest('container: a container cannot be used again; send x-svc-session-id', {
      container: ['is refused'],
    });
  }
  if (objectsOf(given['skills']).some(({ type }) => type === 'custom')) {
    throw badRequest('container.skills: skills of your own are not supported; docx, xlsx, pdf and pptx are there', {
      'container.skills': ['has a custom skill'],
    });
  }
  const { id: _, ...rest } = given;
  return parse('container', containerSchema, rest).skills.map(({ skill_id: name }) => name);
}

function parse<T extends z.ZodType>(path: string, schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value, { error: wordsFor });
  if (parsed.success) return parsed.data;
  const fieldErrors: Record<string, string[]> = {};
  addFieldErrors(
    fieldErrors,
    parsed.error.issues.map((issue) => ({ ...issue, path: [...path.split('.'), ...issue.path] })),
  );
  const [first = path] = Object.keys(fieldErrors);
  throw badRequest(`${first}: ${fieldErrors[first]?.[0] ?? 'is invalid'}`, fieldErrors);
}
