/** Where `svc host install` keeps the state of a machine: root has a place of its own. */
const stateOfRoot = '$([ "$(id -u)" = 0 ] && echo --state-dir /etc/svc-host)';

/** Enrols a machine with a program that is in the folder. */
const enrolWith = (program: string, url: string, token: string): string =>
  `node ${program} enroll ${token} --url ${url} ${stateOfRoot}`;

/** The line for a machine whose daemon serves already: it takes the new environment up by itself. */
export const lineOfKnown = (url: string, token: string): string =>
  `curl -fsSo svc-host.mjs '${url}/install/host.mjs' && ${enrolWith('svc-host.mjs', url, token)}`;

/** The line for a machine that is new here: `install` makes it a host first. */
export const lineOfFresh = (install: string, url: string, token: string): string =>
  `${install} && ${enrolWith('svc-host.mjs', url, token)}`;
