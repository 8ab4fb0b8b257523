import { resolved } from '../apps/server/src/kernel/reference/openapi.refs.ts';
import { type Schema, Types } from './generate-python.types.ts';
import { doc, pascal, snake } from './generate-python.words.ts';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}
interface Operation {
  operationId: string;
  summary: string;
  /** Of a route that relays answer. */
  servers?: object[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** A function of the client. */
interface Method {
  name: string;
  signature: string;
  /** What it yields one by one, or returns. */
  yields?: string;
  returns?: string;
  doc: string;
  call: string;
}
type Features = ReadonlyMap<string, readonly Method[]>;

const writtenFrom = (source: string): string =>
  `# Written from ${source} by \`npm run generate\`; changes here are lost.`;
const header = writtenFrom('the OpenAPI document');

/** The Python client as far as it follows from the OpenAPI document, by file: types, operations, and the stub of those to await. */
export function pythonClient(document: Schema): Record<string, string> {
  const types = new Types((document['components'] as { schemas: Record<string, Schema> }).schemas);
  const features = featuresOf(types, document);
  return {
    'types.py': `"""What is sent and answered."""

${header}

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
elif sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    NotRequired = Optional

${types.text()}
#: What following yields where what was known has to be read anew.
Missed = TypedDict("Missed", {"missed": "Literal[True]", "cursor": "str"})
`,
    'operations.py': operationsText(features),
    '_async/operations.pyi': stubText(features),
  };
}

function featuresOf(types: Types, document: Schema): Features {
  const features = new Map<string, Method[]>();
  for (const [path, methods] of Object.entries(document['paths'] as Record<string, Record<string, Operation>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      // A second method that does the same, and a WebSocket, which the client of its own protocol opens.
      if (typeof operation !== 'object' || operation.operationId?.split('.').length !== 2) continue;
      if (operation.responses['101']) continue;
      const [feature = ''] = operation.operationId.split('.');
      // The same with a body, which only POST has.
      const { post } = methods;
      const isTwin = post?.operationId === `${operation.operationId}.post`;
      const parameters = (operation.parameters ?? []).map((one) => resolved(document, one));
      const body = isTwin && post?.requestBody ? { requestBody: post.requestBody } : {};
      const whole = { ...operation, parameters, ...body };
      features.set(feature, [...(features.get(feature) ?? []), ...methodsOf(types, path, method, whole)]);
    }
  }
  return features;
}

const operationsText = (
  features: Features,
): string => `"""The operations of the API; what a transport for \`asyncio\` answers is awaited."""

${header}

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Optional, Union
from urllib.parse import quote

from . import types
from ._request import CallOptions, Event


class Feature:
    def __init__(self, transport: Any) -> None:
        self._transport = transport

${[...features]
  .map(
    ([feature, methods]) => `
class ${pascal(feature)}(Feature):
    """Operations of \`${feature}\`."""

${methods.map(blocking).join('\n')}`,
  )
  .join('\n')}

class Operations:
    """Every operation of the API, by feature."""

    def __init__(self, transport: Any) -> None:
${[...features.keys()].map((name) => `        self.${snake(name)} = ${pascal(name)}(transport)\n`).join('')}`;

const stubText = (features: Features): string => `${header}

from typing import Any, AsyncIterator, Dict, List, Literal, Optional, Union

from .. import types
from .._request import CallOptions, Event

${[...features].map(([feature, methods]) => `class ${pascal(feature)}:\n${methods.map(awaited).join('')}`).join('\n')}
class AsyncOperations:
    def __init__(self, transport: Any) -> None: ...
${[...features.keys()].map((name) => `    ${snake(name)}: ${pascal(name)}\n`).join('')}`;

const blocking = ({ name, signature, yields, returns, doc: said, call }: Method): string =>
  `    def ${name}(${signature}) -> ${yields === undefined ? returns : `Iterator[${yields}]`}:\n        """${said}"""\n        return ${call}\n`;
const awaited = ({ name, signature, yields, returns }: Method): string =>
  yields === undefined
    ? `    async def ${name}(${signature}) -> ${returns}: ...\n`
    : `    def ${name}(${signature}) -> AsyncIterator[${yields}]: ...\n`;

/** Words of the client for `asyncio` as the one that blocks has them. */
const blockingWords: [RegExp, string][] = [
  [/\basync (?=def|for|with)/g, ''],
  [/\bawait /g, ''],
  [/\bAsync(?=[A-Z])/g, ''],
  [/\bAwaitable\[(\w+)\]/g, '$1'],
  [/\bAwaitable, /g, ''],
  [/__a(?=enter__|exit__|iter__)/g, '__'],
];

/** A file of the client that blocks, made of the one for `asyncio`. */
export function blockingClient(text: string): string {
  const body = blockingWords.reduce((made, [word, by]) => made.replace(word, by), text);
  return body.replace(/\n\n/, `\n\n${writtenFrom('`_async`')}\n\n`);
}

/** How an operation is called in Python, and what the transport is given. */
function callOf(types: Types, base: string, path: string, method: string, operation: Operation) {
  const named = (place: string): Parameter[] => (operation.parameters ?? []).filter((one) => one.in === place);
  const inPath = named('path');
  const inQuery = named('query');
  const body = bodyOf(types, base, operation);
  const query = inQuery.map((one) => `"${one.name}": ${snake(one.name)}`).join(', ');
  return {
    signature: [
      'self',
      ...inPath.map((one) => `${snake(one.name)}: str`),
      ...(body ? [body.parameter] : []),
      '*',
      ...inQuery.map((one) => `${snake(one.name)}: ${queryType(types, base, one)}`),
      'options: Optional[CallOptions] = None',
    ].join(', '),
    asked: [
      `"${method.toUpperCase()}"`,
      urlOf(path, operation.servers !== undefined, inPath),
      ...(query === '' ? [] : [`query={${query}}`]),
      ...(body ? [body.argument] : []),
      ...((operation.parameters ?? []).some((one) => one.name === 'Idempotency-Key') ? ['idempotent=True'] : []),
    ],
    hasPages: inQuery.some((one) => one.name === 'cursor'),
  };
}

function methodsOf(types: Types, path: string, method: string, operation: Operation): Method[] {
  const [feature = '', verb = ''] = operation.operationId.split('.');
  const base = pascal(feature) + pascal(verb);
  const name = snake(verb);
  const { signature, asked, hasPages } = callOf(types, base, path, method, operation);
  const define = (
    as: string,
    result: Pick<Method, 'yields' | 'returns'>,
    how: string,
    more = '',
    extra = '',
  ): Method => ({
    name: as,
    signature,
    ...result,
    doc: `${doc(operation.summary)}${more}`,
    call: `self._transport.${how}(${[...asked, ...(extra === '' ? [] : [extra]), 'options=options'].join(', ')})`,
  });
  const answer = answerOf(operation);
  if (answer.kind === 'events') {
    const yields = eventType(types, base, answer.stream);
    return [define(name, { yields }, 'events', ' Yields until the stream is closed.')];
  }
  if (answer.kind !== 'json') {
    const returns = { text: 'str', bytes: 'bytes', nothing: 'None' }[answer.kind];
    if (!answer.stream) return [define(name, { returns }, answer.kind)];
    const yields = eventType(types, base, answer.stream);
    return [
      define(name, { returns }, answer.kind),
      define(`${name}_events`, { yields }, 'events', ' As it comes, until it ends.'),
    ];
  }
  const returns = types.of(answer.schema, `${base}Answer`, 'types.');
  const records = answer.records.length > 0 ? `records=(${answer.records.join(', ')},)` : '';
  const methods = [define(name, { returns }, 'json', '', records)];
  if (answer.frames) {
    const yields = types.of(answer.frames, `${base}Frame`, 'types.');
    methods.push(define(`${name}_frames`, { yields }, 'frames', ' Its frames as they come.'));
  }
  const items = hasPages ? types.listIn(answer.schema, `${base}Answer`) : undefined;
  if (items) {
    const pages = define(
      `${name}_all`,
      { yields: items.type },
      'pages',
      ' Every item, page after page.',
      `items="${items.name}"`,
    );
    methods.push(pages);
  }
  return methods;
}

/** The named events of a stream, each with the type of what it brings. */
function eventType(types: Types, base: string, stream: Schema): string {
  const events = (stream['oneOf'] as { title: string; properties: { data: Schema } }[]).map(({ title, properties }) => {
    const data = types.of(properties.data, `${base}${pascal(title)}`, 'types.');
    return `Event[Literal["${title}"], ${data}]`;
  });
  return events.length === 1 ? (events[0] as string) : `Union[${events.join(', ')}]`;
}

/** Numbers travel as text, and are numbers to who writes them. */
function queryType(types: Types, base: string, { name, required, schema }: Parameter): string {
  const isNumber = schema['pattern'] === '^\\d{1,6}$';
  const type = isNumber ? 'int' : types.of(schema, base + pascal(name), 'types.');
  return required ? type : `Optional[${type}] = None`;
}

function bodyOf(types: Types, base: string, { requestBody }: Operation) {
  if (!requestBody) return undefined;
  const json = requestBody.content['application/json']?.schema;
  if (!json) {
    const parameter = requestBody.required ? 'body: Union[bytes, str]' : 'body: Union[bytes, str, None] = None';
    return { parameter, argument: 'data=body' };
  }
  const type = types.of(json, `${base}Body`, 'types.');
  const isOptional = !types.needs(json);
  return {
    parameter: isOptional ? `body: Optional[${type}] = None` : `body: ${type}`,
    argument: isOptional ? 'body=body or {}' : 'body=body',
  };
}

function answerOf({ responses }: Operation) {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const content = successes[0]?.[1].content ?? {};
  const json = content['application/json']?.schema;
  const stream = content['text/event-stream']?.schema;
  if (json) {
    const isRecord = (answer: { content?: Record<string, { schema: Schema }> }): boolean =>
      JSON.stringify(answer.content?.['application/json']?.schema) === JSON.stringify(json);
    const records = Object.entries(responses)
      .filter(([status, answer]) => Number(status) >= 300 && isRecord(answer))
      .map(([status]) => status);
    return { kind: 'json' as const, schema: json, frames: stream, records };
  }
  if (stream && Object.keys(content).length === 1) return { kind: 'events' as const, stream };
  if (content['text/plain']) return { kind: 'text' as const, stream };
  return {
    kind: Object.keys(content).length > 0 ? ('bytes' as const) : ('nothing' as const),
    stream,
  };
}

/** The path as an f-string; a part that takes the rest of the path keeps its slashes. */
function urlOf(given: string, isOfRelay: boolean, parameters: readonly Parameter[]): string {
  // The transport puts the address of relays in the place of this part.
  const path = isOfRelay ? `/relay${given}` : given;
  if (parameters.length === 0) return `"${path}"`;
  const filled = path.replace(/\{(\w+)\*?\}/g, (_, name: string) => {
    const isRest = path.endsWith(`{${name}}`) && /\/files\/\{/.test(path);
    return `{quote(${snake(name)}, safe='${isRest ? '/' : ''}')}`;
  });
  return `f"${filled}"`;
}
