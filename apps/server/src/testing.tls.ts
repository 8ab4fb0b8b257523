import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** A key and its certificate for 127.0.0.1, which this process trusts until it is disposed of. */
export interface TrustedCertificate extends Disposable {
  key: Buffer;
  cert: Buffer;
}

/** Makes a certificate for 127.0.0.1 and has this process trust it. */
export function trustCertificate(): TrustedCertificate {
  const authorities = getCACertificates('default');
  const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', keyFile, '-out', certFile, ...subject], {
    stdio: 'ignore',
  });
  const [key, cert] = [readFileSync(keyFile), readFileSync(certFile)];
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([...authorities, cert.toString()]);
  return { key, cert, [Symbol.dispose]: () => setDefaultCACertificates(authorities) };
}
