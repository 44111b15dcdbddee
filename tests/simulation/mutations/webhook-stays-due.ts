import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A webhook that was delivered stays due",
  file: "lib/webhooks/deliver.ts",
  search: `data: { state, responseStatus: status, responseBody: body, error, durationMs, nextAttemptAt },`,
  replace: `data: { state, responseStatus: status, responseBody: body, error, durationMs, ...(state === "pending" && { nextAttemptAt }) },`,
};
