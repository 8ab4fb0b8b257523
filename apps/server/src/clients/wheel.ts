import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ArchivedFile, zip } from './archives.ts';

const source = resolve(import.meta.dirname, '../../../../packages/sdk-python');
const project = readFileSync(join(source, 'pyproject.toml'), 'utf8');
const fieldOf = (name: string): string => new RegExp(`^${name} = "(.*)"$`, 'm').exec(project)?.[1] ?? '';
const version = fieldOf('version');

/** pip reads name, version and what it runs on from the file's name. */
export const wheelName = `svc_sdk-${version}-py3-none-any.whl`;

const metadata = `Metadata-Version: 2.1
Name: ${fieldOf('name')}
Version: ${version}
Summary: ${fieldOf('description')}
Requires-Python: ${fieldOf('requires-python')}
Description-Content-Type: text/markdown

`;
const wheel = 'Wheel-Version: 1.0\nGenerator: svc\nRoot-Is-Purelib: true\nTag: py3-none-any\n';

/** The same with a build number, which pip reads too; it begins with a digit. */
export const wheelNameOf = (hash: string): string => `svc_sdk-${version}-0${hash}-py3-none-any.whl`;

/** The Python client as `pip install` takes it. */
export function pythonWheel(): Buffer {
  const information = `svc_sdk-${version}.dist-info`;
  const files: ArchivedFile[] = [
    ...globSync('svc_sdk/**/{*.py,*.pyi,py.typed}', { cwd: join(source, 'src') })
      .sort()
      .map((path) => ({ path, bytes: readFileSync(join(source, 'src', path)) })),
    {
      path: `${information}/METADATA`,
      bytes: Buffer.concat([Buffer.from(metadata), readFileSync(join(source, 'README.md'))]),
    },
    { path: `${information}/WHEEL`, bytes: Buffer.from(wheel) },
  ];
  const lines = files.map(({ path, bytes }) => {
    const hash = createHash('sha256').update(bytes).digest('base64url');
    return `${path},sha256=${hash},${bytes.length}\n`;
  });
  const record = `${lines.join('')}${information}/RECORD,,\n`;
  return zip([...files, { path: `${information}/RECORD`, bytes: Buffer.from(record) }]);
}
