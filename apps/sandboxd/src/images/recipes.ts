import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from '@svc/sandboxd-api';

/** How an image is made: a Debian suite with packages, then `rootfs/customize.sh` with the files beside it. */
export interface Recipe {
  template: Template;
  /** The image that it adds to: three quarters of the bytes of each are those of `svc-base`, and of its time. */
  on?: Template;
  suite: string;
  /** Beside those of the image that it is built on. */
  packages: readonly string[];
  /** No file of the image is newer (seconds since 1970), so that the same packages give the same bytes. */
  epoch: number;
  /** One line of a pip requirements file, with its hash. */
  pptx: string;
}

const suite = 'trixie';
const epoch = 1_767_225_600;
const pptx = 'python-pptx==1.0.2 --hash=sha256:160838e0b8565a8b1f67947675886e9fea18aa5e795db7ae531606d68e785cba';

// Without ffmpeg: with what it needs it is 398 MiB (LLVM alone 123 MiB), half of what everything else here takes.
const base = [
  words('bash ca-certificates curl wget git jq ripgrep procps file less unzip zip'),
  words('bzip2 xz-utils sqlite3 poppler-utils tzdata'),
  words('python3 python3-numpy python3-pandas python3-matplotlib python3-openpyxl python3-docx'),
  words('python3-reportlab python3-pypdf python3-requests python3-ipython python3-pip python3-venv'),
  words('python3-bs4 python3-yaml'),
  // Dependencies of python-pptx.
  words('python3-lxml python3-pil python3-xlsxwriter python3-typing-extensions'),
  // Each has the comma-below ș and ț of Romanian; Carlito and Liberation stand in for the fonts of office documents.
  words('fontconfig fonts-dejavu fonts-liberation fonts-crosextra-carlito'),
].flat();

const office = words('libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui');

const desktop = [
  words('tigervnc-standalone-server websockify x11-xserver-utils openbox tint2 stterm pcmanfm'),
  words('mousepad adwaita-icon-theme dbus-x11'),
].flat();

/** The recipe of every template. */
export const recipes: Readonly<Record<Template, Recipe>> = {
  'svc-base': { template: 'svc-base', suite, epoch, pptx, packages: base },
  'office-acte': { template: 'office-acte', on: 'svc-base', suite, epoch, pptx, packages: office },
  desktop: { template: 'desktop', on: 'svc-base', suite, epoch, pptx, packages: desktop },
};

/** The scripts and files that go into images. */
export const rootfsFiles = join(import.meta.dirname, 'rootfs');

/**
 * Changes whenever an image made by this recipe would be another one, new versions of packages left aside; `on` is the
 * recipe of what it is built on.
 */
export function recipeHash(recipe: Recipe, on?: Recipe): string {
  const hash = createHash('sha256').update(JSON.stringify([process.arch, recipe, ...(on ? [on] : [])]));
  const layers = ['base', recipe.template, 'node', 'customize.sh'];
  const files = readdirSync(rootfsFiles, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(rootfsFiles.length + 1))
    .filter((path) => layers.some((layer) => path === layer || path.startsWith(`${layer}/`)))
    .sort();
  for (const path of files) hash.update(`\0${path}\0`).update(readFileSync(join(rootfsFiles, path)));
  return hash.digest('hex');
}

function words(text: string): string[] {
  return text.split(' ');
}
