import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A message for later is sent now",
  file: "lib/push/admin/send.ts",
  search: `estimatedDevices, startsAt: sendAt };`,
  replace: `estimatedDevices, startsAt: sendAt && null };`,
};
