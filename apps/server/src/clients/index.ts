import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { builtOnce } from '../kernel/reference/install.ts';
import { pythonWheel, wheelName, wheelNameOf } from './wheel.ts';
import { npmPackage } from './tarball.ts';

const { version } = JSON.parse(readFileSync(fileURLToPath(import.meta.resolve('@svc/sdk/package.json')), 'utf8')) as {
  version: string;
};

const wheel = '/install/svc_sdk.whl';

/** The clients as other machines install them. */
export const clients = {
  /** `npm install <base_url>/install/sdk.tgz`, or what that leads to. */
  npm: {
    kind: 'npm',
    path: '/install/sdk.tgz',
    from: ['/install/sdk.tgz'],
    nameOf: (hash: string) => `sdk-${version}-${hash}.tgz`,
    names: /^sdk-[\w.]+-[0-9a-f]{12}\.tgz$/,
    type: 'application/gzip',
    built: builtOnce(npmPackage),
  },
  /** `pip install <base_url>/install/svc_sdk-<version>-py3-none-any.whl`. */
  pip: {
    kind: 'pip',
    path: `/install/${wheelName}`,
    from: [`/install/${wheelName}`, wheel],
    nameOf: wheelNameOf,
    names: /^svc_sdk-[\w.]+-0[0-9a-f]{12}-py3-none-any\.whl$/,
    type: 'application/zip',
    built: builtOnce(async () => pythonWheel()),
  },
  /** The wheel's address without its version: where it is today. pip takes the whole name only. */
  wheel,
} as const;
