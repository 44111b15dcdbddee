import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Each refund ends a subscription, also one whose period goes on",
  file: "lib/subscriptions/fold/event-effects.ts",
  search: "  if (isRevoked) return {",
  replace: "  if (isRevoked || occurredAt) return {",
};
