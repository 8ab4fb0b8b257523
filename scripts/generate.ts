import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contract, type Route, scopeNames, scopesOf } from '@svc/contract';
import { z } from 'zod';
import { settingRows } from '../apps/server/src/config.ts';
import { type LaunchMove, launchMoves } from '../apps/server/src/features/prompts/prompts.runs.ts';
import { type PromptMove, promptMoves } from '../apps/server/src/features/prompts/prompts.states.ts';
import { type SandboxMoveRow, sandboxMoves } from '../apps/server/src/features/sandboxes/sandboxes.moves.ts';
import type { Move } from '../apps/server/src/features/scheduler/scheduler.effects.ts';
import { runMoves } from '../apps/server/src/features/scheduler/scheduler.states.ts';
import type { RouteRow } from '../packages/sdk/src/routes.ts';
import { openApiDocument } from '../apps/server/src/kernel/reference/openapi.ts';
import { pythonClient } from './generate-python.ts';
import { root } from './rules/repository.ts';
import { generatedBlock } from './rules/rules.ts';

/** Writes what is derived from code: the OpenAPI document, and the tables of settings and moves. `--check` only compares. */
const settings = settingRows().map(
  ({ name, flags, description, default: value }) =>
    `| \`${name}\` | ${flags.map(({ flag }) => `\`${flag}\``).join(', ')} | ${value && `\`${value}\``} | ${description} |`,
);
const keyed = Object.entries(contract).flatMap(([feature, routes]) =>
  Object.values(routes as Record<string, Route>)
    .filter(({ auth }) => auth === 'key')
    .map((route) => ({ route, scopes: scopesOf(feature, route) })),
);
const scopes = scopeNames
  .filter((scope) => scope !== '*')
  .map((scope) => {
    const allowed = keyed.filter((entry) => entry.scopes.includes(scope));
    return `| \`${scope}\` | ${allowed.map(({ route }) => `\`${route.method} ${route.path}\``).join(', ')} |`;
  });
const files: Record<string, string> = {
  'apps/server/openapi.json': `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
  'docs/settings.md': `# Settings

Environment variables, or flags of the same name that win over them. Lines \`SVC_X=value\` in \`settings.env\` in the data
dir serve every command, in any terminal; environment and flags win over them. A malformed one stops the start with a line
that names it. A secret comes from the environment, from \`settings.env\`, or from a file that \`--…-file\` or \`SVC_…_FILE\` names,
never from a flag: others see command lines. Generated from \`apps/server/src/config.ts\` by \`npm run generate\`.

| name | flag | default | meaning |
|---|---|---|---|
${settings.join('\n')}
`,
};

files['docs/scopes.md'] = `# Scopes

A key may call what one of its scopes allows; \`*\` allows everything. Any other word is refused when a key is made or changed.
A key gives another one no scope beyond its own: \`<feature>\` includes its \`:read\` and \`:exec\`, and no \`:serve\`, for to be
a host is another right than to command hosts. With \`scheduler:serve\` alone a device sees the schedules that may come to it.
A device serves with one key, the first that did: another key gets 403 until that one is revoked, has expired, or a key with
\`*\` takes the device over or makes a key for it (\`svc host enroll\`).

\`sessions\` and \`prompts\` make machines work: what they send is run by the agent command of a machine's policy, and an agent
is worth a shell unless the policy asks (\`agent.ask\`). \`schedules\` runs what was approved on a machine, and in the cloud
what the key may do there by itself: a shell needs \`sandboxes\` and the level \`l3_sandbox\` too, an agent \`chat\` besides.

Generated from the contract by \`npm run generate\`.

| scope | routes |
|---|---|
${scopes.join('\n')}
`;

/** What the SDK has to know of a route at run time: the schemas stay here. */
function routeRow({ method, path, takes, answers, query, idempotent }: Route): RouteRow {
  const statuses = answers.kind === 'json' ? Object.keys(answers.statuses).map(Number) : [];
  const records = statuses.filter((status) => status >= 300);
  const items = query && 'cursor' in query.shape && answers.kind === 'json' ? itemsOf(answers.schema) : undefined;
  return {
    method,
    path,
    ...(takes && { takes: takes.kind }),
    answers: answers.kind === 'relayed' || answers.kind === 'socket' ? 'json' : answers.kind,
    ...(answers.kind === 'json' && answers.frames && { frames: true }),
    ...(answers.kind === 'bytes' && 'schemas' in answers && { events: true }),
    ...(records.length > 0 && { records }),
    ...(items !== undefined && { items }),
    ...(idempotent && { idempotent }),
  };
}

/** The name of a page's only list. */
function itemsOf(schema: z.ZodType): string | undefined {
  const shape = schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
  return Object.keys(shape).find((name) => shape[name] instanceof z.ZodArray);
}

const routeRows = Object.entries(contract).map(([feature, verbs]) => [
  feature,
  Object.fromEntries(
    Object.entries(verbs as Record<string, Route>)
      // A WebSocket is opened by the client of its own protocol.
      .filter(([, { answers }]) => answers.kind !== 'socket')
      .map(([verb, row]) => [verb, routeRow(row)]),
  ),
]);
files['packages/sdk/src/routes.json'] = `${JSON.stringify(Object.fromEntries(routeRows), undefined, 2)}\n`;

/** A README of a feature, with its tables of moves between the markers. */
function withMoves(feature: string, tables: string[][][]): [path: string, text: string] {
  const path = `apps/server/src/features/${feature}/README.md`;
  const lines = tables.flatMap((rows, nth) => [
    ...(nth === 0 ? [] : ['']),
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
  ]);
  const block = `<!-- generated: moves -->\n${lines.join('\n')}\n<!-- end -->`;
  return [path, readFileSync(join(root, path), 'utf8').replace(generatedBlock, () => block)];
}
/** A line for a move of a run; one that may end in several states has one for each of them below it. */
function runLines([name, { from, guard, checkedThere, outcomes, effects = [] }]: [string, Move<never, never>]) {
  const condition = [guard?.says, checkedThere].filter((said) => said !== undefined).join('; ');
  const changes = (all: typeof effects) => all.map(({ says }) => says).join('; ');
  const [first] = outcomes;
  if (outcomes.length === 1 && first) {
    return [[name, from.join(', ') || '(none)', first.to, condition, changes([...first.effects, ...effects])]];
  }
  const ends = outcomes.map(({ to, when, effects: own }) => ['', '', to, when?.says ?? 'else', changes(own)]);
  return [[name, from.join(', ') || '(none)', '', condition, changes(effects)], ...ends];
}

const guardsSay = { due: 'its lifetime is over', idle: 'no command holds it', v2: 'it is v2' };

function sandboxLine([name, move]: [string, SandboxMoveRow]): string[] {
  const { from, to, guards = [], lifetime, snapshot, ends = [], endsInThePast, begins, audit } = move;
  const effects = [
    lifetime === 'freeze' ? 'lifetime frozen' : lifetime === 'thaw' ? 'lifetime goes on' : undefined,
    lifetime === 'extend' && 'lifetime at least as long as wanted',
    snapshot && (snapshot === 'kept' ? 'snapshot bytes' : 'no snapshot'),
    ends.length > 0 && `ends ${ends.join(', ')}`,
    endsInThePast && 'ran no longer than its lifetime, or than it was seen',
    begins && `begins ${begins}${begins === 'running' ? ' (v2)' : ''}`,
    audit && `audit \`${audit}\``,
  ];
  const condition = guards.map((guard) => guardsSay[guard]).join('; ');
  return [name, from.join(', ') || '(none)', to, condition, effects.filter(Boolean).join('; ')];
}

function promptLine([name, move]: [string, PromptMove<never> | LaunchMove<never>]): string[] {
  const { from, to, says = '' } = move;
  const guard = 'guard' in move ? move.guard : undefined;
  return [name, from.join(', ') || '(none)', to, guard?.says ?? '', says];
}

const head = ['move', 'from', 'to', 'if', 'changes'];
const tables = {
  scheduler: [Object.entries<Move<never, never>>(runMoves).flatMap(runLines)],
  sandboxes: [Object.entries<SandboxMoveRow>(sandboxMoves).map(sandboxLine)],
  prompts: [
    Object.entries<PromptMove<never>>(promptMoves).map(promptLine),
    Object.entries<LaunchMove<never>>(launchMoves).map(promptLine),
  ],
};
for (const [feature, lines] of Object.entries(tables)) {
  const [path, text] = withMoves(feature, lines);
  files[path] = text;
}

for (const [name, text] of Object.entries(pythonClient(openApiDocument() as never))) {
  files[`packages/sdk-python/src/svc_sdk/${name}`] = text;
}

const check = process.argv.includes('--check');
for (const [path, text] of Object.entries(files)) {
  const file = join(root, path);
  if (!check) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is out of date; run: npm run generate`);
    process.exitCode = 1;
  }
}
