/** Fetches the program, compares it with what the gateway promised to this signed-in page, and starts it; as `svc host invite` says it. */
export function installLine(
  url: string,
  { code, path, sha256 }: { code: string; path: string; sha256: string },
): string {
  const fetching = [
    `const b=Buffer.from(await(await fetch('${url}${path}')).arrayBuffer())`,
    `if((await import('node:crypto')).createHash('sha256').update(b).digest('hex')!=='${sha256}')throw Error('not the program that was promised')`,
    `(await import('node:fs')).writeFileSync('svc-host.mjs',b)`,
  ].join(';');
  return `node --input-type=module -e "${fetching}" && node svc-host.mjs install --url ${url} --code ${code}`;
}

/** What a person types at a machine to let it run a schedule's command; as the API says it of what waits there. */
export const approveLine = (scheduleId: string): string => `svc host approve ${scheduleId}`;
