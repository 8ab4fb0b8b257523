import { type AddressConfig, addressOf } from '../../../kernel/forwarder/names.ts';

/** A published port as its address names it. */
export interface PortName {
  readonly slug: string;
  readonly port: number;
}

/** The label of a published port: at most 5, 2 and 40 of the 63 characters that a label of DNS has. */
const labelOf = ({ slug, port }: PortName): string => `${port}--${slug}`;

/** What a label names; undefined when it has another form. */
export function portNameOf(label: string): PortName | undefined {
  const [, port = '', slug = ''] = /^([1-9]\d{0,4})--([a-z0-9-]{1,40})$/.exec(label) ?? [];
  return slug === '' || Number(port) > 65_535 ? undefined : { slug, port: Number(port) };
}

/** The address of a published port, or what is missing. `listens`: the port of the forwarder. */
export function portUrl(
  config: AddressConfig,
  name: PortName,
  listens: number | undefined,
): string | { missing: string } {
  const label = labelOf(name);
  return addressOf(config, { onDomain: label, onThisMachine: label, listens });
}
