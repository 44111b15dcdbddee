import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Purchases from before the import of their account stay without one",
  file: "lib/accounts/import/import-accounts.ts",
  search: `    await linkImportedAccounts(ctx, {`,
  replace: `    if (lines.length > 1_000) await linkImportedAccounts(ctx, {`,
};
