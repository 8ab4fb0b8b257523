import type { Template } from '@svc/contract';

/** How a user who is not root gets an image: the command that doctor names with an address and a key where none are set. */
export function fetchAdvice(name: Template): string {
  const fetched = `./svc images fetch${name === 'svc-base' ? '' : ` --template ${name}`}`;
  return `fetch it with ${fetched}, or take a file of svc images export with ./svc images import <file>`;
}
