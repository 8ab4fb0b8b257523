import { newEmail } from '@svc/contract';
import type { Command } from 'commander';
import { CommandError } from './base/command-error.ts';
import type { Kernel } from './kernel.ts';
import { printable, printableJson } from './base/text.ts';

/** The parts of the kernel that an admin command uses: the database, blobs, and a way to tell the gateways. */
export type Admin = Pick<Kernel, 'config' | 'sql' | 'bus' | 'gateways' | 'keyring' | 'clock' | 'log' | 'blobs'>;

/** Turns a command's work into a commander action: opens what it needs, prints its result, closes. */
export type Run = <A extends unknown[]>(
  work: (admin: Admin, ...args: A) => Promise<unknown>,
) => (...args: A) => Promise<void>;

/** Adds a feature's commands to the program. */
export type Commands = (program: Command, run: Run) => void;

/** Parses an option's value, or fails with what it must be. */
export function oneOf<const T extends string>(values: readonly T[]): (value: string) => T {
  return (value) => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw new CommandError(`"${value}" must be one of: ${values.join(', ')}`);
    return found;
  };
}

/** Parses an e-mail address; only its shape is checked. */
export function emailAddress(value: string): string {
  if (!/^[^\s@]+@[^\s@]+$/.test(value) || value.length > 254) throw new CommandError(`"${value}" is no e-mail address`);
  return value;
}

/** Parses the e-mail address that an account gets: in letters of one script that are all seen. */
export function newEmailAddress(value: string): string {
  const kept = newEmail(value);
  if (kept === undefined)
    throw new CommandError(`"${printable(value)}" is no e-mail address in letters of one script that are all seen`);
  return kept;
}

/** Parses a safe integer. */
export function integer(value: string): number {
  const number = Number(value);
  if (!/^[+-]?\d+$/.test(value) || !Number.isSafeInteger(number))
    throw new CommandError(`"${value}" must be an integer`);
  return number;
}

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Parses a span such as `90s`, `30m`, `12h`, `30d`, `2w` (a bare number: seconds) into seconds. */
export function span(value: string): number {
  const match = /^(\d{1,9})([smhdw]?)$/.exec(value);
  const seconds = match ? Number(match[1]) * (secondsOf[match[2] || 's'] ?? 1) : 0;
  if (seconds < 1) throw new CommandError(`"${value}" must be a span such as 90s, 30m, 12h, 30d or 2w`);
  return seconds;
}

/** Writes a result: JSON, or aligned text for people. */
export function format(result: unknown, json: boolean): string {
  if (json) return printableJson(JSON.stringify(result));
  if (Array.isArray(result)) return table(result as Record<string, unknown>[]);
  if (typeof result !== 'object' || result === null) return printable(String(result));
  const rows = Object.entries(result);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`).join('\n');
}

function table(rows: Record<string, unknown>[]): string {
  if (rows.length === 0) return 'none';
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
