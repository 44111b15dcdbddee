import type { Mutation } from "./mutation";

export const mutation: Mutation = {
  what: "A device whose app was removed stays active",
  file: "lib/push/worker/outcomes.ts",
  search: `  if (devices.length > 0) await invalidateDevices(deps, devices);`,
  replace: `  void [invalidateDevices, devices];`,
};
