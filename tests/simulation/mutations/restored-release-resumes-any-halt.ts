import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A release that is offered again resumes a rollout that an operator has halted",
  file: "lib/releases/rollouts/change-rollouts.ts",
  search: `releaseIds, { state: "halted", isHaltedByYank: true });
  await changeSchedules(tx, now, operator, schedules, resume)`,
  replace: `releaseIds, { state: "halted" });
  await changeSchedules(tx, now, operator, schedules, resume)`,
};
