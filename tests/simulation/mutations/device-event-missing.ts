import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A browser that is registered is not announced to webhooks",
  file: "lib/push/devices/register-browser.ts",
  search: `      await ctx.webhooks.record(tx, [deviceVerified(row)]);
`,
  replace: "",
};
