import { Command } from 'commander';
import { type Template, template } from '@svc/contract';
import { createTarBuilder } from './images/build.ts';
import { createImages, type ImageShelf } from './images/images.ts';
import type { StoredImage } from './images/store.ts';
import { tryImage } from './images/trial.ts';
import { createSystemPackages } from './system-packages.ts';

interface Flags {
  dir: string;
  json?: true;
  mirror?: string;
  systemPackages: boolean;
}

/** `images list | build | import | export | prune`, for `./svc`; prints to stdout, progress to stderr. */
export function imagesCommand(defaultDir: string): Command {
  const command = new Command('images').description('root file systems that sandboxes start from');
  const add = (usage: string, description: string) =>
    command
      .command(usage)
      .description(description)
      .option('--dir <path>', 'where the images are', defaultDir)
      .option('--mirror <url>', 'Debian mirror; default the one apt uses')
      .option('--no-system-packages', 'install nothing with apt')
      .option('--json', 'one JSON value on stdout');
  add('list', 'the images on this machine').action((flags: Flags) => {
    const shelf = openImages(flags);
    print(flags, { data: shelf.status(), stored: shelf.list().map(listed) }, () =>
      shelf
        .status()
        .map(({ template, state, digest, bytes, step }) =>
          [template.padEnd(12), state.padEnd(9), digest?.slice(0, 19) ?? step, bytes ? megabytes(bytes) : ''].join(' '),
        )
        .join('\n'),
    );
  });
  add('build <template>', 'builds an image now, unless it is there').action(async (name: string, flags: Flags) => {
    const image = await buildImage(openImages(flags), name, (line) => process.stderr.write(line));
    print(flags, image, () => `${image.template} ${image.digest}`);
  });
  add('import <file>', 'takes an image that was exported, if a sandbox starts from it; needs no root').action(
    async (file: string, flags: Flags) => {
      const { template, digest, rootfs } = await openImages(flags).importFrom(file, async (imported) => {
        const { untried } = await tryImage(imported, flags.dir);
        if (untried !== undefined) process.stderr.write(`svc: not tried whether it runs: ${untried}\n`);
      });
      print(flags, { template, digest, rootfs }, () => `${template} ${digest}`);
    },
  );
  add('export <template> <file>', 'writes an image to a file, for images import on another machine').action(
    async (name: string, file: string, flags: Flags) => {
      const { template, digest } = await openImages(flags).exportTo(templateOf(name), file);
      print(flags, { template, digest, file }, () => `${template} ${file}`);
    },
  );
  add('prune', 'removes images that no recipe makes any more; only while sandboxd is down').action(
    async (flags: Flags) => {
      const removed = await openImages(flags).prune(new Set());
      print(flags, { removed }, () => (removed.length === 0 ? 'nothing to remove' : removed.join('\n')));
    },
  );
  return command;
}

/** Opens the images of a directory with the builder of this machine. */
function openImages(options: { dir: string; mirror?: string; systemPackages: boolean }): ImageShelf {
  const packages = createSystemPackages(options.systemPackages, (line) => process.stderr.write(`svc: ${line}\n`));
  return createImages({ dir: options.dir, builder: createTarBuilder({ packages, mirror: options.mirror }) });
}

async function buildImage(shelf: ImageShelf, name: string, show: (line: string) => void) {
  const wanted = templateOf(name);
  const rewrite = process.stderr.isTTY;
  // Waiting for the build of another process keeps no process alive by itself.
  const alive = setInterval(() => {}, 1_000_000);
  let shown = '';
  const { digest, rootfs } = await shelf
    .build(wanted, ({ progress, step }) => {
      const line = `${String(Math.floor(progress * 100)).padStart(3)} %  ${step}`;
      // Without a terminal a line for each package would bury a log.
      const key = rewrite ? line : String(Math.floor(progress * 20));
      if (key !== shown) show(rewrite ? `\r\u001b[K${line}` : `${line}\n`);
      shown = key;
    })
    .finally(() => clearInterval(alive));
  if (rewrite) show('\r\u001b[K');
  return { template: wanted, digest, rootfs };
}

function templateOf(name: string): Template {
  const wanted = template.safeParse(name);
  if (!wanted.success) throw new Error(`no template is called ${name}; there are ${template.options.join(', ')}`);
  return wanted.data;
}

const listed = ({ template, digest, bytes, built_at }: StoredImage) => ({ template, digest, bytes, built_at });

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function print(flags: Flags, value: unknown, text: () => string): void {
  // A step of a build may quote what another program said: no character that a terminal acts on, but the line's end.
  const shown = (flags.json ? JSON.stringify(value) : text()).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (found) =>
    JSON.stringify(found) === `"${found}"` ? '\ufffd' : JSON.stringify(found).slice(1, -1),
  );
  process.stdout.write(`${shown}\n`);
}
