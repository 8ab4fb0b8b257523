import type { EgressPreset } from '@svc/sandboxd-api';
import { runOk } from './run.ts';
import type { EgressRules } from './shim/spec.ts';

/** Hosts of the preset pypi if the operator names none. */
export const defaultPypiHosts = 'pypi.org,files.pythonhosted.org';

/** Hosts of the preset npm if the operator names none: the registry that npm is set to on this machine. */
export async function npmHosts(log: (message: string, details: object) => void): Promise<string[]> {
  try {
    const said = await runOk('npm', ['config', 'get', 'registry'], { timeoutMs: 20_000 });
    const registry = new URL(said.trim());
    // Sandboxes are told of it: never with this machine's name and password.
    [registry.username, registry.password] = ['', ''];
    return [registry.href];
  } catch (err) {
    log('npm does not say which registry it uses; the egress preset npm reaches nothing', { err });
    return [];
  }
}

/** The presets, as the operator's settings define them. */
export interface Registries {
  /** Hosts that a preset reaches. */
  hosts: EgressRules['presets'];
  /** Environment of user code with that preset: which registry its tools ask. */
  env: Record<EgressPreset, Record<string, string>>;
}

/**
 * Reads `--pypi-hosts` and `--npm-hosts`: the registry first, as a host or as its whole address, then the hosts that its
 * files come from. npm is told of it, pip when it is another than its own. Throws for an invalid address.
 */
export function registriesOf(given: Record<EgressPreset, readonly string[]>): Registries {
  const [pypi, npm] = [addressOf(given.pypi[0], 'simple/'), addressOf(given.npm[0], '')];
  const insecure = pypi?.protocol === 'http:' ? { PIP_TRUSTED_HOST: pypi.host } : {};
  return {
    hosts: { pypi: given.pypi.map(hostOf), npm: given.npm.map(hostOf) },
    env: {
      pypi: pypi && pypi.host !== 'pypi.org' ? { PIP_INDEX_URL: pypi.href, ...insecure } : {},
      npm: npm ? { npm_config_registry: npm.href } : {},
    },
  };
}

const isAddress = (item: string): boolean => /^https?:\/\//.test(item);

function addressOf(item: string | undefined, path: string): URL | undefined {
  if (item === undefined) return undefined;
  return new URL(isAddress(item) ? item : `https://${item}/${path}`);
}

const hostOf = (item: string): string => (isAddress(item) ? new URL(item).hostname : item);
