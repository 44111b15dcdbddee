import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "What was announced is taken to be the status at the last event",
  file: "lib/subscriptions/notifications/status-changes.ts",
  search: `own.map(({ updatedAt }) => updatedAt?.getTime() ?? 0)`,
  replace: `own.map(({ lastEventAt }) => lastEventAt?.getTime() ?? 0)`,
};
