import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contract, reachOf, type Route, scopeNames, scopesOf, scopesOfApps } from '@svc/contract';
import { z } from 'zod';
import { settingRows } from '../apps/server/src/config.ts';
import { manifests } from '../apps/server/src/features.ts';
import { linesOf, type Machine } from '../apps/server/src/kernel/machine.ts';
import type { RouteRow } from '../packages/sdk/src/routes.ts';
import { openApiDocument } from '../apps/server/src/kernel/reference/openapi.ts';
import { clientsTable } from './clients-table.ts';
import { blockingClient, pythonClient } from './generate-python.ts';
import { root } from './rules/repository.ts';
import { generatedBlock } from './rules/names.ts';

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
const mayHave = { unknown: 'any', document: 'one with a document', registered: "the operator's", 'first-party': 'svc' };
const strengths = scopeNames.map((scope) => {
  const known = (['unknown', 'document', 'registered', 'first-party'] as const).find((trust) =>
    scopesOfApps(trust).includes(scope),
  );
  return { scope, reach: reachOf([scope]).join(', '), apps: known === undefined ? 'none' : mayHave[known] };
});
const strong = strengths
  .filter(({ reach, apps }) => reach !== '' || apps !== mayHave.unknown)
  .map(({ scope, reach, apps }) => `| \`${scope}\` | ${reach} | ${apps} |`);
const files: Record<string, string> = {
  'apps/server/openapi.json': `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
  'docs/settings.md': `# Settings

Environment variables, or flags of the same name that win over them. Lines \`SVC_X=value\` in \`settings.env\` in the data
dir serve every command, in any terminal; environment and flags win over them. A malformed one stops the start with a line
that names it. A secret comes from the environment, from \`settings.env\`, or from a file that \`--…-file\` or \`SVC_…_FILE\` names,
never from a flag: others see command lines. Generated from \`apps/server/src/config.settings.ts\` by \`npm run generate\`.

| name | flag | default | meaning |
|---|---|---|---|
${settings.join('\n')}
`,
};

files['docs/scopes.md'] = `# Scopes

A key may call what one of its scopes allows; \`*\` allows everything. Any other word is refused when a key is made or changed.
A key gives another one no scope beyond its own: \`<feature>\` includes its \`:read\`, \`:exec\` and \`:terminal\`, and no \`:serve\`, for to be
a host is another right than to command hosts. With \`scheduler:serve\` alone a device sees the schedules that may come to it.
A device serves with one key, the first that did: another key gets 403 until that one is revoked, has expired, or a key with
\`*\` takes the device over or makes a key for it (\`svc host enroll\`).

\`sessions\` and \`prompts\` make machines work: what they send is run by the agent command of a machine's policy, and an agent
is worth a shell unless the policy asks (\`agent.ask\`). \`schedules\` runs what was approved on a machine, and in the cloud
what the key may do there by itself: a shell needs \`sandboxes\` and the level \`l3_sandbox\` too, an agent \`chat\` besides.

## How strong a scope is

One table (\`packages/contract/src/strength.ts\`) says what a scope reaches beyond the records of an account. A signed-in person gives
away what reaches anything, or what lasts, with a proof of the last ten minutes only: a key, an app's scope, a role, a port for
others, a token of enrolment, a key of SSH, the approval of a command. API keys are proof by themselves. On the consent page
what reaches \`terminal\`, \`people\`, \`keys\` or \`operator\` is not ticked beforehand, but for \`svc\` itself. Where a device asks by a
code, which anybody may have sent (RFC 8628, 5.4), nothing strong is ticked for anybody, \`svc login --device\` included: with one proof and
one press a person would give a stranger a terminal.

\`environments\` of a key that a person or a command made includes \`environments:terminal\`, as it does for \`svc login\`. For
another app, and for the keys that it was given or made, nothing includes it: without it an app opens no terminal and no port of a
machine, sets no key of SSH, makes no token of enrolment, and gives nobody the role of a developer or above.

| scope | reaches | apps that may have it |
|---|---|---|
${strong.join('\n')}

## Routes

Generated from the contract by \`npm run generate\`.

| scope | routes |
|---|---|
${scopes.join('\n')}
`;

/** The properties of a route that the SDK needs at run time: the schemas stay here. */
function routeRow({ method, path, at, takes, answers, query, idempotent }: Route): RouteRow {
  const statuses = answers.kind === 'json' ? Object.keys(answers.statuses).map(Number) : [];
  const records = statuses.filter((status) => status >= 300);
  const items = query && 'cursor' in query.shape && answers.kind === 'json' ? itemsOf(answers.schema) : undefined;
  return {
    method,
    path,
    ...(at === 'relay' && { at }),
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

const tableOf = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** The states and moves of a machine. */
function machineText({ states, ...machine }: Machine): string {
  const rows = states.names.map((name) => [
    name,
    states.lines[name]?.means ?? '',
    states.lines[name]?.left ?? 'nobody',
  ]);
  const stated = tableOf([`state of \`${machine.table}\``, 'means', 'who leaves it'], rows);
  return `${stated}\n\n${tableOf(['move', 'from', 'to', 'if', 'changes'], linesOf({ states, ...machine }))}`;
}

for (const { name, machines = [] } of manifests) {
  if (machines.length === 0) continue;
  const path = `apps/server/src/features/${name}/README.md`;
  const block = `<!-- generated: moves -->\n${machines.map(machineText).join('\n\n')}\n<!-- end -->`;
  files[path] = readFileSync(join(root, path), 'utf8').replace(generatedBlock, () => block);
}

const python = 'packages/sdk-python/src/svc_sdk';
for (const [name, text] of Object.entries(pythonClient(openApiDocument() as never))) files[`${python}/${name}`] = text;
for (const name of ['follow', 'host', 'sandbox', 'transport', 'upload']) {
  const text = readFileSync(join(root, python, `_async/${name}.py`), 'utf8');
  files[`${python}/_sync/${name}.py`] = blockingClient(text);
}

files['docs/clients.md'] = clientsTable(files);

const check = process.argv.includes('--check');
for (const [path, text] of Object.entries(files)) {
  const file = join(root, path);
  if (!check) writeFileSync(file, text);
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${path} is out of date; run: npm run generate`);
    process.exitCode = 1;
  }
}
