import { html } from './html.ts';
import { button, field, form, type PageContext, render, textsOf } from './page.ts';

interface SignUp {
  action: string;
  /** Addresses of it may ask. */
  domain: string;
  email?: string | undefined;
  problem?: 'bad' | 'slow' | undefined;
  /** Of the problem `slow`. */
  waitSeconds?: number | undefined;
}

/** Asks for the address that an invitation is sent to. */
export function signUpPage(page: PageContext, { action, domain, email, problem, waitSeconds }: SignUp): string {
  const { signUp, fields, problems } = textsOf(page);
  const slow = waitSeconds === undefined ? problems.slowAnyway : problems.slow(waitSeconds);
  const texts = { bad: problems.email, slow };
  return render(page, {
    title: signUp.title,
    lead: signUp.text(domain),
    body: form(
      { action },
      html`${field({
        name: 'email',
        label: fields.email,
        type: 'email',
        autocomplete: 'email',
        maxlength: 254,
        value: email,
        required: true,
        autofocus: true,
        problem: problem && texts[problem],
      })}
${button(signUp.button)}`,
    ),
  });
}
