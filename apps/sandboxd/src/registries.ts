import type { EgressPreset } from '@svc/sandboxd-api';
import type { EgressRules } from './shim/spec.ts';

/** The registries that the presets stand for where the operator names none. */
export const defaultRegistries: Record<EgressPreset, string> = {
  pypi: 'pypi.org,files.pythonhosted.org',
  npm: 'registry.npmjs.org',
};

/** What a preset makes of the operator's setting. */
export interface Registries {
  /** Hosts that a preset reaches. */
  hosts: EgressRules['presets'];
  /** Environment of user code with that preset: which registry its tools ask. */
  env: Record<EgressPreset, Record<string, string>>;
}

/**
 * Reads `--pypi-hosts` and `--npm-hosts`: the registry first, as a host or as its whole address, then the hosts that its
 * files come from. Tools are told of it when it is another than theirs. Throws for an address that is none.
 */
export function registriesOf(given: Record<EgressPreset, readonly string[]>): Registries {
  const [pypi, npm] = [addressOf(given.pypi[0], 'simple/'), addressOf(given.npm[0], '')];
  const insecure = pypi?.protocol === 'http:' ? { PIP_TRUSTED_HOST: pypi.host } : {};
  return {
    hosts: { pypi: given.pypi.map(hostOf), npm: given.npm.map(hostOf) },
    env: {
      pypi: pypi && pypi.host !== 'pypi.org' ? { PIP_INDEX_URL: pypi.href, ...insecure } : {},
      npm: npm && npm.host !== 'registry.npmjs.org' ? { npm_config_registry: npm.href } : {},
    },
  };
}

const isAddress = (item: string): boolean => /^https?:\/\//.test(item);

function addressOf(item: string | undefined, path: string): URL | undefined {
  if (item === undefined) return undefined;
  return new URL(isAddress(item) ? item : `https://${item}/${path}`);
}

const hostOf = (item: string): string => (isAddress(item) ? new URL(item).hostname : item);
