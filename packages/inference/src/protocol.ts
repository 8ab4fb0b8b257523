/** The protocols: OpenAI's chat completions, Anthropic's messages, OpenAI's responses. */
export const protocols = ['chat', 'messages', 'responses'] as const;
export type Protocol = (typeof protocols)[number];
