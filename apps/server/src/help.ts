/** The text of `svc --help` below its commands. */
export const helpText = `
Settings (svc settings lists them) are environment variables (SVC_PORT=8080), flags (--port 8080), or lines of settings.env.

Examples:
  svc up                                       run the platform here, until Ctrl-C
  svc doctor                                   what this machine lacks, and what to do about it
  svc keys create --name phone                 another API key for the only account
  svc accounts set --new-email me@example.com  where alerts go
  svc host run --name box                      make this machine a host
  svc host exec box -- uname -a                run a command on it, from any machine
`;
