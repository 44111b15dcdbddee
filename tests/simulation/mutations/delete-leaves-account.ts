import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Deleting an account leaves it",
  file: "lib/accounts/delete-account.ts",
  search: `WITH deleted AS (DELETE FROM "Account" WHERE "id" = \${accountId}::uuid RETURNING "id", "email", "locale"),`,
  replace: `WITH deleted AS (SELECT "id", "email", "locale" FROM "Account" WHERE "id" = \${accountId}::uuid),`,
};
