const secret = /\bsvc_[0-9A-Za-z]{38}\b|(?<=\bBearer )[^\s"\\]+|(?<=:\/\/[^\s:/@"]*:)[^\s@/"]+(?=@)/gi;

/** Removes API keys, bearer tokens and passwords in URLs from any text. */
export function redact(line: string): string {
  return line.replace(secret, '[redacted]');
}
