/**
 * What a refusal says of a field, or of the whole request: a code, and its sentence with the places of parameters. A
 * client with words of its own shows them by code. Which parameters are numbers, `numbers` says; all others are texts.
 * Of two sentences with parameters that fit, the one that stands first counts.
 */
export const reasons = {
  required: 'is required',
  empty: 'must have at least 1 character',
  blank: 'must not be blank',
  none_given: 'must have at least 1 entry',
  too_short: 'must have at least {least} characters',
  too_long: 'must have at most {most} characters',
  too_few: 'must have at least {least} entries',
  too_many: 'must have at most {most} entries',
  too_many_bytes: 'must be at most {most} bytes of UTF-8',
  too_much_json: 'must be at most {most} characters of JSON',
  too_many_kib: 'must be at most {most} KiB as JSON',
  too_small: 'must be at least {least}',
  too_big: 'must be at most {most}',
  not_above: 'must be more than {limit}',
  not_below: 'must be less than {limit}',
  not_multiple: 'must be a multiple of {limit}',
  not_text: 'must be a text',
  not_number: 'must be a number',
  not_whole: 'must be a whole number',
  not_boolean: 'must be true or false',
  not_object: 'must be an object',
  not_list: 'must be a list',
  not_id: 'must be a uuid',
  not_url: 'must be a URL',
  not_https: 'must be an https URL',
  not_email: 'must be an e-mail address',
  unclear_email: 'must be an e-mail address in letters of one script that are all seen',
  not_instant: 'must be an RFC 3339 time such as {example}',
  not_day: 'must be a date such as {example}, or an instant with its offset such as {other}',
  not_date: 'must be a date such as {example}',
  no_such_day: 'must be a day of the calendar',
  not_skip_day: 'must be YYYY-MM-DD or MM-DD',
  out_of_years: 'must lie in the years {first} to {last}',
  out_of_instants: 'must be an instant of the years {first} to {last}',
  after_years: 'must be before the year {first} in UTC',
  not_time_of_day: 'must be a time of day, HH:MM',
  not_zone: 'must be an IANA time zone, such as {example}',
  not_a_zone: 'must be an IANA time zone',
  not_zone_of_cron: 'must be the name of a time zone where cron goes by it, such as {example}',
  not_future: 'must be in the future',
  not_in_future: 'must lie in the future',
  not_within_year: 'must lie in the future, and at most a year from now',
  long_past: 'lies more than 60 s in the past',
  same_time: 'must not be the time of `from`',
  quiet_hours_missing: 'approval outside_hours needs quiet_hours',
  not_one_of: 'must be one of: {values}',
  not_known_form: 'has none of the documented forms',
  unknown_scope: 'no such scope: {scope}; one of {values}',
  unknown_fields: 'has fields that are unknown here: {names}',
  bad_characters: 'must be well-formed text without NUL',
  bad_text: 'must be well-formed text',
  nothing_changed: 'at least one field is required',
  nothing_besides_stop: 'at least one field is required besides stop',
  unchangeable: 'cannot be changed',
  not_slug: 'must be 3 to 40 lower-case letters, digits and dashes, with no dash at either end',
  not_monitor_slug: 'must be 3 to 40 small letters, digits and hyphens, and neither begin nor end with a hyphen',
  not_color: 'must be a colour such as {example}',
  not_language: 'must be a language tag such as ro or en-GB',
  not_port: 'must be a port number',
  own_port: 'must not be 8080',
  not_variable: 'must be like an environment variable: A-Z, 0-9 and _, no digit first',
  not_variable_name: 'must be the name of an environment variable',
  reserved_variable: 'must not start with SVC_ or CLOUD_',
  has_equals: 'must not contain =',
  many_variables: 'at most 64 entries',
  many_labels: 'at most 64 labels',
  not_header_name: 'must be a header name',
  not_header_value: 'must be a header value',
  own_header: 'is set by the platform',
  header_of_connection: '{name} is set by whoever makes the request; leave it out',
  many_headers: 'must have at most 20 headers',
  header_twice: 'names a header twice: upper and lower case are the same',
  named_header_twice: '{name} is there twice: upper and lower case are the same',
  headers_of_other: 'the address is of another server; send the headers that are for it, or null',
  headers_lost: 'what is stored cannot be opened any more; send the spec with its headers anew',
  headers_of_machine:
    'this schedule is to run on another machine; send its spec with the values of headers that are for there',
  app_or_url: 'give app_id or url',
  not_one_command: 'exactly one of cmd, shell, or language with code is required',
  no_program: 'must not be empty: it names the program',
  not_in_workspace: 'must be inside /workspace',
  not_below_in: 'must be a relative path below /workspace/in, without empty parts, . and ..',
  not_host_name: 'must be a host name such as {example} or {other}, not an address',
  internal_name: 'must not have an internal suffix',
  not_type: 'must be a type, such as heartbeat.down, or its beginning, such as heartbeat; in lower case',
  not_action: 'must be an act of the list',
  user_in_url: 'must have no user and password in it; send them as a header',
  not_public_url:
    'must be an https: URL on the public internet, on a port that is open here; a host reaches its own network',
  not_found_url:
    'must be an https: URL whose name is found and is on the public internet, or of a host in SVC_FETCH_ALLOW_HOSTS',
  no_push_contact: 'Apple takes no push from an installation without a contact: its operator sets SVC_PUSH_CONTACT',
  not_push: 'must be an https: URL of a push service on the public internet',
  not_ntfy: 'must be the address of an ntfy topic, such as {example}',
  webhook_lost: 'what is stored of this webhook cannot be opened any more; send its url anew, or delete it',
  not_repository: 'must be an https or ssh address, such as {example}',
  no_host_name: 'must have a host name that does not begin with a dash',
  holds_password: 'must not hold a password or a token: make it a secret of the environment',
  begins_with_dash: 'must not begin with a dash',
  out_of_repository: 'must not lead out of the repository',
  not_backup_place: 'must be a whole path such as /mnt/backup/svc, or s3://bucket/prefix',
  endpoint_with_user: 'must have no user and no password: the keys have fields of their own',
  not_one_proof: 'password or passkey is required, and not both',
  passkey_refused:
    'this passkey was not taken: its answer is over, was used, or it is known already; try again from the start',
  pauses: 'pauses the monitor: leave out paused, or send true',
  one_period: 'stands in place of period_s: give one of them',
  no_period: 'is required, or cron in its place',
  cron_of_monitor: 'has 5 fields here, from minute to weekday, or is a macro such as {example}',
  cron_long: 'a cron expression has at most {most} characters',
  cron_zone: 'has its time zone in `tz`, not before the expression',
  cron_macro: 'unknown macro; known are {values}',
  cron_fields: 'a cron expression has 5 fields, or 6 with seconds first',
  cron_never: 'this never fires: no month has such a day',
  cron_step_alone: '{field}: a step needs a range, as in {example}',
  cron_step: '{field}: a step is 1 to {most}',
  cron_unknown: "{field}: '{item}' is not understood",
  cron_backwards: "{field}: '{item}' runs backwards",
  cron_outside: "{field}: '{item}' is not within {least} to {most}",
  no_zone: '{name} is no time zone',
  no_date: '{name} is no date',
  ignore_line: 'must be one line, without control characters',
  ignore_escape: 'has a "\\" before no sign: write "\\\\" for itself, and "#" for a number',
  ignore_expression: 'reads like a regular expression: "*" is any text, "#" a number, and a sign after "\\" itself',
  ignore_all: 'must say more than "*" and blanks, which is every line',
  ignore_number: '"#" is a whole number: no digit and no other "#" stands beside it',
  phone_needs_host: 'a phone action needs a single host',
  chain_in_cloud: 'a chain runs in the cloud',
  kind_of_cloud_vm: 'cloud_vm takes shell and http only',
  native_needs_host: 'needs a target of type host',
  cloud_has_no_variables:
    'a command in the cloud has no variables of a host; leave them out, or choose a host as the target',
  no_schedule: 'there is no schedule {id}',
  circle: 'the schedules would run in a circle',
  send_needs_text: 'is required for send',
  no_writer: 'is required, as no device has written to this session',
  not_device: 'is no device of this account',
  not_reopened: 'cannot be set back to open',
  prompt_not_open: 'needs an open prompt',
  folder_in_itself: 'is this folder or stands in it',
  day_ahead: 'must be at most a day ahead',
  track_twice: 'must be one of each track',
  track_alone: 'each track needs an upload of its own',
  recording_long: 'the recording is longer than 3 hours; split it',
  recording_container:
    'files of this kind are not read (Windows Media, Flash, RealMedia, MPEG programs, MXF); convert the file to MP4 or WebM',
  file_too_big: 'the file is over 100 MiB',
  server_answered: 'the server answered {status}',
  ssh_lines: 'must be one key in one line',
  ssh_type: 'must begin with ssh-ed25519, ecdsa-sha2-nistp256, -384, -521 or ssh-rsa',
  ssh_base64: 'its second part is no base64',
  ssh_other_type: 'is not the kind of key that it says',
  ssh_damaged: 'is damaged',
  ssh_bits: 'an RSA key has 2,048 to 16,384 bits',
  v1_template: 'v1 has the template {names} only',
  never_asked: 'this machine has never asked for runs: there is nothing to rename, tag or pause',
  no_command: 'only shell schedules have a command to approve',
  key_needs_serving: 'needs a key with the scope hosts:serve or scheduler:serve',
  quota: 'this account may have {most} {what}, and has {used}; {remedy}',
  role_needed: '{what} needs the role {role} in this environment; yours is {own}',
  port_of_others: 'this port is published to others; your role in its environment is {own}',
  project_of_others: 'only its owner, or an owner or admin of its organisation, may change a project',
  project_in_organisation: 'only an owner or admin of the organisation may make projects in it',
  sandboxes_off: 'sandboxes are not enabled for this account; ask its operator',
  v2_off: 'v2 sandboxes are not enabled for this account',
  v2_off_v1_cannot: 'v2 sandboxes are not enabled for this account, and v1 cannot do this',
  no_provider: 'no such provider of machines is set up here: enrol a machine of your own with provider "byo"',
  machine_of_environment: 'this is the machine of an environment: archive or destroy that, and it goes with it',
  key_does_more: 'another key that may do more serves as this machine: revoke that key first',
  beyond_own: 'a key cannot give {what} beyond its own',
  not_yourself: 'you cannot suspend yourself; another operator can',
  has_form: 'must have the form {form}',
} as const;

export type ReasonCode = keyof typeof reasons;
/** Why something was refused, for clients with words of their own. */
export interface Reason {
  code: ReasonCode;
  params: Record<string, string | number>;
}

const numbers = new Set(['least', 'most', 'limit', 'status', 'used']);
const placeholder = /\{([a-z]+)\}/;
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function patternOf(sentence: string): RegExp {
  const parts = sentence.split(new RegExp(placeholder, 'g'));
  const sources = parts.map((part, at) => {
    if (at % 2 === 0) return escaped(part);
    return numbers.has(part) ? `(?<${part}>-?\\d[\\d,.]*(?:e[+-]?\\d+)?)` : `(?<${part}>[^]+)`;
  });
  return new RegExp(`^${sources.join('')}$`);
}

const fixed = new Map<string, ReasonCode>();
const patterns: { code: ReasonCode; pattern: RegExp }[] = [];
for (const [code, sentence] of Object.entries(reasons) as [ReasonCode, string][]) {
  if (placeholder.test(sentence)) patterns.push({ code, pattern: patternOf(sentence) });
  else fixed.set(sentence, code);
}

/** Longer sentences hold lists of a caller's own, and are not read. */
const longest = 2_000;

/** The reason that a sentence of the API stands for; undefined for one that only programs meet. */
export function reasonOf(sentence: string): Reason | undefined {
  const code = fixed.get(sentence);
  if (code !== undefined) return { code, params: {} };
  if (sentence.length > longest) return undefined;
  for (const { code: found, pattern } of patterns) {
    const groups = pattern.exec(sentence)?.groups;
    if (!groups) continue;
    const params = Object.entries(groups).map(([name, text]) => [
      name,
      numbers.has(name) ? Number(text.replaceAll(',', '')) : text,
    ]);
    return { code: found, params: Object.fromEntries(params) as Reason['params'] };
  }
  return undefined;
}
