import type { FastifyRequest } from 'fastify';
import { badRequest } from '../base/errors.ts';

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const longestDeviceText = 120;

/** `x-svc-device` with its name and platform; header bytes are read as UTF-8 where they are (document 1). */
export function deviceOf(request: FastifyRequest): { id: string; name?: string; platform?: string } | undefined {
  const id = request.headers['x-svc-device'];
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || !uuid.test(id)) {
    throw badRequest('x-svc-device must be a uuid', { 'x-svc-device': ['must be a uuid'] });
  }
  const name = headerText(request.headers['x-svc-device-name']);
  const platform = headerText(request.headers['x-svc-device-platform']);
  return { id: id.toLowerCase(), ...(name && { name }), ...(platform && { platform }) };
}

/** What a client calls itself in a header, as text; undefined when it is missing or there twice. */
export function headerText(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'latin1');
  const utf8 = bytes.toString('utf8');
  return (utf8.includes('\ufffd') ? value : utf8)
    .trim()
    .slice(0, longestDeviceText)
    .replace(/[\ud800-\udbff]$/, '')
    .toWellFormed();
}
