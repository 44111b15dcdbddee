import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Events that arrive after a later one are not applied",
  file: "lib/subscriptions/inbox/apply.ts",
  search: `  if (count < rows.length) throw new Error("the database did not write every event"); // it must not be acknowledged
`,
  replace: "",
};
