import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A message for one language goes to all",
  file: "lib/push/audience.ts",
  search: `return locale !== null && \`\${toLanguageTag(locale)}-\`.startsWith(\`\${range}-\`);`,
  replace: `return locale !== null || \`\${toLanguageTag("")}-\`.startsWith(\`\${range}-\`);`,
};
