import { join } from 'node:path';
import { Command, Option } from 'commander';
import { type Template, template } from '@svc/contract';
import { createTarBuilder } from './images/build.ts';
import { megabytes } from './images/download.ts';
import { fetchImage, imageName } from './images/fetch.ts';
import { createImages, type ImageShelf } from './images/images.ts';
import { newSigningKey, publicKeyOf, readSigningKey } from './images/signature.ts';
import type { StoredImage } from './images/store.ts';
import { tryImage } from './images/trial.ts';
import { createSystemPackages } from './system-packages.ts';

interface Flags {
  dir: string;
  json?: true;
  mirror?: string;
  systemPackages: boolean;
}

interface ExportFlags extends Flags {
  toFolder?: string;
  signKey?: string;
}

interface FetchFlags extends Flags {
  template?: string;
  key?: string;
  setUrl?: string;
  setKey?: string;
  allowHosts: string;
  ports: string;
}

type Add = (usage: string, description: string) => Command;

/** `images list | build | fetch | import | export | new-key | prune`, for `./svc`; prints to stdout, progress to stderr. */
export function imagesCommand(defaultDir: string): Command {
  const command = new Command('images').description('root file systems that sandboxes start from');
  const add: Add = (usage, description) =>
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
  arrivals(add);
  departures(add);
  add('prune', 'removes images that no recipe makes any more; only while sandboxd is down').action(
    async (flags: Flags) => {
      const removed = await openImages(flags).prune(new Set());
      print(flags, { removed }, () => (removed.length === 0 ? 'nothing to remove' : removed.join('\n')));
    },
  );
  return command;
}

/** What brings an image of elsewhere. */
function arrivals(add: Add): void {
  const tryOut = (dir: string) => async (rootfs: string) => {
    const { untried } = await tryImage(rootfs, dir);
    if (untried !== undefined) process.stderr.write(`svc: not tried whether it runs: ${untried}\n`);
  };
  add('fetch [address]', 'fetches an image that is signed, from a folder or a file; needs no root')
    .option('--key <public key>', 'the key it must be signed with; default: SVC_SANDBOX_IMAGES_KEY')
    .option('--template <name>', 'which one of a folder; default: svc-base')
    .addOption(new Option('--set-url <url>').hideHelp())
    .addOption(new Option('--set-key <key>').hideHelp())
    .addOption(new Option('--allow-hosts <names>').default('').hideHelp())
    .addOption(new Option('--ports <numbers>').default('80,443').hideHelp())
    .action(async (given: string | undefined, flags: FetchFlags) => {
      const [address, key] = [given ?? flags.setUrl, flags.key ?? flags.setKey];
      if (address === undefined) throw new Error('name an address, or set SVC_SANDBOX_IMAGES_URL');
      if (key === undefined) {
        throw new Error('name the key that the image must be signed with: --key, or SVC_SANDBOX_IMAGES_KEY');
      }
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
      const { template, digest, rootfs } = await fetchImage(openImages(flags), address, {
        key,
        template: flags.template === undefined ? undefined : templateOf(flags.template),
        allowHosts: listOf(flags.allowHosts),
        ports: listOf(flags.ports).map(Number),
        signal: stop.signal,
        onProgress: showBytes((line) => process.stderr.write(line)),
        tryOut: tryOut(flags.dir),
      });
      print(flags, { template, digest, rootfs }, () => `${template} ${digest}`);
    });
  add('import <file>', 'takes an image that was exported, if a sandbox starts from it; needs no root').action(
    async (file: string, flags: Flags) => {
      const { template, digest, rootfs } = await openImages(flags).importFrom(file, tryOut(flags.dir));
      print(flags, { template, digest, rootfs }, () => `${template} ${digest}`);
    },
  );
}

/** What makes images for other machines. */
function departures(add: Add): void {
  add('export <template> [file]', 'writes an image to a file, for images import or fetch on another machine')
    .option('--to-folder <path>', 'write it there, under the name that images fetch asks a folder for')
    .option('--sign-key <file>', 'sign it with this key, for images fetch')
    .action(async (name: string, given: string | undefined, flags: ExportFlags) => {
      if ((given === undefined) === (flags.toFolder === undefined)) throw new Error('name a file, or --to-folder');
      const shelf = openImages(flags);
      const wanted = templateOf(name);
      const signKey = flags.signKey === undefined ? undefined : readSigningKey(flags.signKey);
      const file = given ?? join(flags.toFolder ?? '', imageName(wanted, shelf.recipe(wanted)));
      const { template, digest } = await shelf.exportTo(wanted, file, signKey);
      const key = signKey && publicKeyOf(signKey);
      print(flags, { template, digest, file, ...(key && { key }) }, () => `${template} ${file}${key ? ` ${key}` : ''}`);
    });
  add('new-key <file>', 'makes a key to sign images with; prints the public key').action(
    (file: string, flags: Flags) => {
      const key = newSigningKey(file);
      print(flags, { key, file }, () => key);
    },
  );
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

/** Says how much of a file is here: on a terminal always, else each tenth. */
function showBytes(show: (line: string) => void): (have: number, total: number | undefined) => void {
  const rewrite = process.stderr.isTTY;
  let shown = '';
  return (have, total) => {
    const of = total === undefined ? '' : ` of ${megabytes(total)}`;
    const line = `${total ? `${String(Math.floor((100 * have) / total)).padStart(3)} %  ` : ''}${megabytes(have)}${of}`;
    const key = rewrite ? line : String(Math.floor(total ? (10 * have) / total : have / 50e6));
    if (key !== shown) show(rewrite ? `\r\u001b[K${line}` : `${line}\n`);
    if (rewrite && have === total) show('\r\u001b[Kunpacking it\r');
    shown = key;
  };
}

function templateOf(name: string): Template {
  const wanted = template.safeParse(name);
  if (!wanted.success) throw new Error(`no template is called ${name}; there are ${template.options.join(', ')}`);
  return wanted.data;
}

const listOf = (text: string): string[] => text.split(',').filter((item) => item !== '');

const listed = ({ template, digest, bytes, built_at }: StoredImage) => ({ template, digest, bytes, built_at });

function print(flags: Flags, value: unknown, text: () => string): void {
  // A step of a build may quote what another program said: no character that a terminal acts on, but the line's end.
  const shown = (flags.json ? JSON.stringify(value) : text()).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, (found) =>
    JSON.stringify(found) === `"${found}"` ? '\ufffd' : JSON.stringify(found).slice(1, -1),
  );
  process.stdout.write(`${shown}\n`);
}
