import type { FastifyInstance } from 'fastify';
import { scriptType, servePage, textType } from './pages.ts';

/** A program that other machines fetch. */
interface Installable {
  readonly path: string;
  built(): Promise<{ bytes: Buffer; sha256: string }>;
}

/** Serves a program and beside it its hash, as `sha256sum --check` reads it. */
export function mountInstall(app: FastifyInstance, program: Installable): void {
  const { path } = program;
  const name = path.slice(path.lastIndexOf('/') + 1);
  servePage(app, path, { type: scriptType, body: async () => (await program.built()).bytes });
  servePage(app, `${path}.sha256`, {
    type: textType,
    body: async () => `${(await program.built()).sha256}  ${name}\n`,
  });
}
