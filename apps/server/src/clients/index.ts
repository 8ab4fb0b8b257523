import { builtOnce } from '../kernel/reference/install.ts';
import { pythonWheel, wheelName } from './wheel.ts';
import { npmPackage } from './tarball.ts';

/** The clients as other machines install them. */
export const clients = {
  /** `npm install <base_url>/install/sdk.tgz`. */
  npm: { path: '/install/sdk.tgz', type: 'application/gzip', built: builtOnce(npmPackage) },
  /** `pip install <base_url>/install/svc_sdk-<version>-py3-none-any.whl`. */
  pip: { path: `/install/${wheelName}`, type: 'application/zip', built: builtOnce(async () => pythonWheel()) },
  /** The wheel's address without its version: where it is today. pip takes the whole name only. */
  wheel: '/install/svc_sdk.whl',
};
