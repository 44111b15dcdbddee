import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A worker sends what was canceled before it was due",
  file: "lib/push/worker/deliver.ts",
  search: `  if (isCanceled) return CANCELED;
`,
  replace: `  void [CANCELED, isCanceled];
`,
};
