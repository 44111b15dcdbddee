import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "Events of webhooks are recorded without the transaction of their cause",
  file: "lib/webhooks/webhooks.ts",
  search: "recorder.isSubscribed(type) ? db.$transaction(run) : run(db)",
  replace: "run(db)",
};
