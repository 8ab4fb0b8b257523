/** The text of `svc --help` below its commands. */
export const helpText = `
Settings (svc settings lists them) are environment variables (SVC_PORT=8080), flags (--port 8080), or lines of settings.env.

Examples:
  svc host run --name box                      make this machine a host
  svc accounts invite --email me@example.com   let another person in
`;
