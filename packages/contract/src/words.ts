import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const nouns: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};
const formats: Record<string, string> = {
  uuid: 'a uuid',
  guid: 'a uuid',
  email: 'an e-mail address',
  url: 'a URL',
  datetime: 'an RFC 3339 time such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  base64: 'base64',
  base64url: 'base64url',
};

/**
 * The message for a person about a value that a schema refuses, in the house's words: the field's name stands before it. A
 * schema's own message wins.
 */
export function wordsFor(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${nouns[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1 ? `must be ${list(issue.values)}` : `must be one of: ${list(issue.values)}`;
    case 'invalid_format':
      return formats[issue.format]
        ? `must be ${formats[issue.format]}`
        : `must have the form ${issue.pattern ?? issue.format}`;
    case 'too_small':
      return sizeOf('at least', issue.minimum, issue.origin, issue.inclusive === false);
    case 'too_big':
      return sizeOf('at most', issue.maximum, issue.origin, issue.inclusive === false);
    case 'unrecognized_keys':
      return `has fields that are unknown here: ${issue.keys.join(', ')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? `must be one of: ${list(issue.options)}`
        : 'has none of the documented forms';
    case 'invalid_key':
      return `has a name that is not allowed: ${nameOf(issue.input)} ${issue.issues[0]?.message ?? 'is none'}`;
    case 'invalid_element':
      return 'holds an entry that is not allowed';
    case 'custom':
    default:
      return undefined;
  }
}

const nameOf = (name: unknown): string => JSON.stringify(String(name).slice(0, 64));

const list = (values: readonly unknown[]): string => values.map(String).join(', ');

function sizeOf(word: string, limit: number | bigint, origin: string, isExclusive: boolean): string {
  const unit = { string: 'character', array: 'entry', set: 'entry', file: 'byte' }[origin];
  if (unit !== undefined) return `must have ${word} ${limit} ${limit === 1 ? unit : plural(unit)}`;
  if (isExclusive) return `must be ${word === 'at least' ? 'more' : 'less'} than ${limit}`;
  return `must be ${word} ${limit}`;
}

const plural = (unit: string): string => unit.replace(/y$/, 'ie').concat('s');
