import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A disabled endpoint still gets what waits",
  file: "lib/webhooks/claim-delivery.ts",
  search: 'WHERE endpoint."disabledAt" IS NULL AND endpoint."id" <>',
  replace: 'WHERE endpoint."id" <>',
};
