/** A comment, a text, a quoted name, a body between dollars, or the end of a statement. */
const parts = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|;/g;

/** The statements of an SQL text, without comments and empty ones. It knows texts and bodies in dollars, no nested comments. */
export function splitStatements(text: string): string[] {
  const found: string[] = [];
  let statement = '';
  let from = 0;
  for (const { 0: part, index } of text.matchAll(parts)) {
    statement += text.slice(from, index);
    from = index + part.length;
    if (part === ';') {
      found.push(statement);
      statement = '';
    } else statement += /^(?:--|\/\*)/.test(part) ? ' ' : part;
  }
  found.push(statement + text.slice(from));
  return found.map((each) => each.trim()).filter((each) => each !== '');
}
