import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { rootfsFiles } from '../apps/sandboxd/src/images/recipes.ts';
import { killAll } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';

const has: Readonly<Record<string, string>> = {
  soffice: 'command -v soffice',
  pptx: 'python3 -c "import pptx"',
};

/** The fenced blocks of a skill, in order; `needs` names what must be there for one. */
function blocksOf(skill: string): { language: string; needs: string | undefined; code: string }[] {
  const text = readFileSync(join(rootfsFiles, `base/opt/svc/skills/${skill}/SKILL.md`), 'utf8');
  return [...text.matchAll(/^```(python|bash)(?: if=(\w+))?\n(.*?)^```$/gms)].map(
    ([, language = '', needs, code = '']) => ({ language, needs, code }),
  );
}

/** Starts soffice some thirty times: a minute that the suite has not. */
const withOffice = process.env['SVC_TEST_SKILLS'] === 'all' ? false : 'skills with LibreOffice (SVC_TEST_SKILLS=all)';
const skills = ['docx', 'xlsx', 'pdf', 'pptx'];
const checker = '/opt/svc/skills/office/check';

/** Makes files that are broken each in its way, and a whole one. */
const broken = `
import zipfile
from docx import Document
from openpyxl import Workbook

document = Document()
document.add_paragraph('Text')
document.save('whole.docx')
whole = open('whole.docx', 'rb').read()
open('cut.docx', 'wb').write(whole[: len(whole) // 2])
open('text.docx', 'w').write('no zip')
open('cut.pdf', 'wb').write(b'%PDF-1.7\\n1 0 obj\\n')
with zipfile.ZipFile('whole.docx') as old, zipfile.ZipFile('missing.docx', 'w') as new:
    for name in old.namelist():
        if name != 'word/styles.xml':
            new.writestr(name, old.read(name))
for name, value in (('error', '#DIV/0!'), ('formula', '=1/0')):
    book = Workbook()
    book.active['A1'] = value
    book.save(f'{name}.xlsx')
`;

describe('the skills of sandboxes', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform(0);
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  /** Runs a command that ends with 0. */
  const sure = async (box: { id: string }, command: { language?: string; code?: string; shell?: string }) => {
    const ran = await p.exec(box, { ...command, timeout_seconds: 300 });
    assert.equal(ran.exit_code, 0, `${command.code ?? command.shell}\n${ran.stdout}\n${ran.stderr}`);
    return ran;
  };
  /** Runs the blocks of a skill; answers what those need that were left out. */
  const runBlocks = async (box: { id: string }, skill: string): Promise<string[]> => {
    const left: string[] = [];
    for (const { language, needs, code } of blocksOf(skill)) {
      if (needs !== undefined && (await p.exec(box, { shell: has[needs] ?? 'false' })).exit_code !== 0)
        left.push(needs);
      else await sure(box, language === 'python' ? { language, code } : { shell: `set -euo pipefail\n${code}` });
    }
    return left;
  };
  /** Output of `check` on a file with a problem. */
  const problemOf = async (box: { id: string }, file: string): Promise<string> => {
    const { exit_code, stdout } = await p.exec(box, { shell: `${checker} ${file}`, timeout_seconds: 300 });
    assert.equal(exit_code, 1, stdout);
    return stdout;
  };

  test('every block that needs no LibreOffice runs as it stands in svc-base, and those that do are marked', async () => {
    const box = await p.create();
    for (const skill of skills) assert.ok((await runBlocks(box, skill)).includes('soffice'), skill);
    await p.clear();
  });

  test('check tells a file that is cut off, is no zip, lacks a part or holds an error from a whole one', async () => {
    const box = await p.create();
    await sure(box, { language: 'python', code: broken });
    assert.match((await sure(box, { shell: `${checker} whole.docx` })).stdout, /whole\.docx: no problem found/);
    assert.match(await problemOf(box, 'cut.docx'), /problem: is no \.docx file \(not a zip: empty, cut off/);
    assert.match(await problemOf(box, 'text.docx'), /problem: is no \.docx file \(not a zip/);
    assert.match(await problemOf(box, 'missing.docx'), /names word\/styles\.xml, which is missing/);
    assert.match(await problemOf(box, 'error.xlsx'), /problem: Sheet!A1 holds #DIV\/0!/);
    assert.match(await problemOf(box, 'cut.pdf'), /problem: does not open/);
    assert.match(await problemOf(box, 'nothing.pdf'), /problem: there is no such file/);
    await p.clear();
  });

  for (const skill of skills) {
    const opens = skill === 'pdf' ? '' : ', and LibreOffice opens all that they make';
    test(`every block of the skill ${skill} runs as it stands in office-acte${opens}`, {
      skip: withOffice,
    }, async (t) => {
      const box = await p.create({ template: 'office-acte' });
      const left = await runBlocks(box, skill);
      assert.ok(!left.includes('soffice'));
      const made = `find /workspace -name '*.${skill}'`;
      if (skill !== 'pdf')
        await sure(box, {
          shell: `set -e; ${made} | grep .; for file in $(${made}); do /opt/svc/skills/office/convert $file --out /tmp/seen/; done`,
        });
      await p.clear();
      // The build could not reach the Python index.
      if (left.includes('pptx')) t.skip('the block of python-pptx, which this image is without');
    });
  }

  test('check computes formulas where LibreOffice is, and tells of one that ends in an error', {
    skip: withOffice,
  }, async () => {
    const box = await p.create({ template: 'office-acte' });
    await sure(box, { language: 'python', code: broken });
    assert.match(await problemOf(box, 'formula.xlsx'), /problem: Sheet!A1: #DIV\/0! from ==?1\/0/);
    await p.clear();
  });
});
