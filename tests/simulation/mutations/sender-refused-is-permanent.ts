import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "An email whose sender the mail server refuses is discarded",
  file: "lib/platform/mail/queue.ts",
  search: 'const isOfRecipient = code === "EENVELOPE" && command !== "MAIL FROM";',
  replace: 'const isOfRecipient = code === "EENVELOPE" && command !== "";',
};
