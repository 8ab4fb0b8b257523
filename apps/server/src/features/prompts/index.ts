import type { AccountData } from '../../kernel/deletion.ts';
export { Prompts } from './prompts.book.ts';

/** What it keeps of an account. */
export const promptsData: AccountData = { name: 'prompts', tables: ['prompts.runs', 'prompts.prompts'] };
